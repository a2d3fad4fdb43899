"""How the bundled tiny models were made. Run with `python -m srlite.demo.make`; see `__main__.py` for the stages."""
