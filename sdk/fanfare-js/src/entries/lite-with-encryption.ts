import { nacl } from '../nacl.ts';
import type { Options } from '../options.ts';
import Base from './lite.ts';

/** WebSocket only, with encrypted channels. */
export default class Pusher extends Base {
  constructor(key: string, options: Options) {
    super(key, options && { nacl, ...options });
  }
}
