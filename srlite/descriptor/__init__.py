"""The vision-language model that writes descriptions."""
