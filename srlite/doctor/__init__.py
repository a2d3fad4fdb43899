"""`srlite doctor`: what this machine can run, what is missing, and the command that mends it."""
