"""An exhaustive search over the controller's own code, among workers that follow the protocol and fail at any moment.

    explore   every state that a system can come to, breadth first, and the shortest way to what breaks a rule
    world     the system: a controller, workers, the messages between them, and what may still go wrong
    rules     what must hold in every state
    bounds    how far the search goes, and the bugs that can be put in to see that they are found

The controller is the real `Hub` with its rounds, epochs and roll call; workers are modelled, after the protocol.
"""
