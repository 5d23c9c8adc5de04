import WebSocket from 'ws';
import { nacl } from '../nacl.ts';
import type { Options } from '../options.ts';
import { runtimeWith } from '../platform.ts';
import Base from '../pusher.ts';
import { httpTransports } from '../transports/transport.ts';

/** WebSocket and HTTP with encrypted channels. Node 20 has no WebSocket of its own. */
export default class Pusher extends Base {
  static override Runtime = runtimeWith({ transports: httpTransports(), WebSocket });

  constructor(key: string, options: Options) {
    super(key, options && { nacl, ...options });
  }
}
