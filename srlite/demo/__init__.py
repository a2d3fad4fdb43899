"""The bundled demonstration: a drawn world, two tiny models, and the whole story without a card or a download."""
