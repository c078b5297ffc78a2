"""Files that are whole or absent, and tables that are read."""
