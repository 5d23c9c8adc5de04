import { jump } from './clock.fixture.ts';
import { onCommand } from './thread-commands.fixture.ts';

/** Runs in each thread of `clock-server.fixture.ts`, before what it is for. */

onCommand(jump);
