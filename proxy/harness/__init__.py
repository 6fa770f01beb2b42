"""A process that records and replays for a test framework, a session a test, told by lines (docs/pytest.md).

`lines` is what is said on stdin and stdout, `replays` and `recordings` are the two kinds of session, `desk` answers.
"""
