"""The desk: stars shown in a browser on this machine, to be looked at, labelled and learned from.

`stars` and `surroundings` say what a star's page shows, `table` what the table of a survey shows, `session` holds what
is being worked on, `server` lets a browser on this machine see it, and `verbs` are the commands. The pages themselves
lie in `static/`, are drawn by the browser from JSON, and load nothing from anywhere else.
"""
