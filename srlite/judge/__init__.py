"""The frozen language model that answers yes/no questions about a description."""
