"""What a run is worth: cases of the test part, and every figure from them."""
