"""Proof by training: a config is run for a few real steps through the real engine, in processes of their own.

``runner.verify`` is the way in. The parent never imports torch; ``server`` and ``ranks`` are what runs in the other processes.
"""
