"""What people see: terminal, pages, figures and tables."""
