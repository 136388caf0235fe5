"""The style sheet. A Python string, so that no data file has to be found or packaged."""

from typing import Final

CSS: Final = """
Screen { background: $background; color: $foreground; }
#status, #checks, #tabs, #hint, #footer { height: 1; }
#status { background: $panel; }
#toosmall { height: 1fr; padding: 1 1; }
#body { height: 1fr; }
#actions { height: 1fr; }
#middle { width: 1fr; height: 1fr; }
#losses { height: 1fr; }
#now { height: 8; }
#right { height: 1fr; }
#buffer { height: 3fr; }
#system { height: 2fr; }
.full-pane { height: 1fr; }
#actions, #losses, #now, #buffer, #system, #log, .full-pane {
    border: round $border;
    border-title-color: $foreground;
    border-subtitle-color: $text-muted;
    padding: 0 1;
}
#actions:focus, #losses:focus, #now:focus, #buffer:focus, #system:focus, #log:focus, .full-pane:focus {
    border: round $primary;
    border-title-color: $primary;
    border-title-style: bold;
}
.single #now { height: 1fr; }
.single #log { border: none; padding: 0 1; }
.single #log.alone { border: round $primary; }
AskLetter, AskText, ParametersForm { align: center middle; background: $background 60%; }
#dialog {
    width: auto; min-width: 50; max-width: 90%; height: auto; max-height: 90%;
    border: round $primary; border-title-color: $primary; border-title-style: bold;
    background: $surface; padding: 1 2;
}
#dialog.form { width: 76; }
#dialog Static { width: auto; max-width: 100%; height: auto; }
#dialog .help { color: $text-muted; }
#dialog .error { color: $error; }
#fields { height: auto; max-height: 20; }
#fields Static.label { margin-top: 1; }
#run { margin-top: 1; }
CommandPalette SearchIcon { display: none; }
.game { background: $background; width: 100%; height: 100%; }
#game-title { height: 1; }
#game-said { height: 2; }
#game-title { background: $panel; }
#game-keys { height: 2; }
#game-picture { width: 1fr; height: 1fr; }
#game-side { width: 32; height: 1fr; border-left: solid $border; padding: 0 1; }
#game-list { height: 1fr; padding: 0 1; }
#game-filter { height: 3; }
#game-live { height: 6; padding: 0 1; }
.ascii #game-side { border-left: ascii $border; }
.ascii #actions, .ascii #losses, .ascii #now, .ascii #buffer, .ascii #system, .ascii #log, .ascii .full-pane, .ascii #dialog {
    border: ascii $border;
}
"""
