"""What a person, or a program that asks for JSON, gets to see of a run."""
