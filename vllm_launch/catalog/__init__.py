"""Find, read and validate recipes: YAML with line numbers, or the published JSON."""
