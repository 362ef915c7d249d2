"""The controller: one process around the rounds of `tailcut.round` that all workers talk to.

hub.py takes messages and gives messages, without socket or clock; serve.py is the socket and the clock around it.
"""
