import { jump } from './clock.fixture.ts';

/** Runs in each thread of `clock-server.fixture.ts`, before what it is for. */

const jumps = new BroadcastChannel('jumps');
jumps.unref();
jumps.onmessage = () => jump();
