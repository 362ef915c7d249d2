"""An exhaustive search over the controller's own code, with workers that may fail at any moment.

    explore   the search: all reachable states, breadth first, and a shortest path to each violation
    world     the system: a controller, workers, the messages between them, and the remaining faults
    rules     the invariants of every state
    bounds    the limits of a search, and the bugs that can be put in to test that it finds them

The controller is the real `Hub` with its rounds, epochs and roll call; workers are models that follow the
protocol.
"""
