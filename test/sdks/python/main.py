"""Checks the libraries of Pusher for Python against a running server. The argument is JSON of ../scene.ts."""

import beams
import channels_client
import channels_server

channels_server.run()
channels_client.run()
beams.run()
