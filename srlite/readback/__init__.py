"""Read exported GGUF files again, with llama.cpp, in a process of its own."""
