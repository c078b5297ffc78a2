"""What the explanations of many texts say together."""
