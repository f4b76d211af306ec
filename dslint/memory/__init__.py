"""Will it fit: the shapes of models, and what a run of them needs of GPU, host and disk."""
