import { AppState } from 'react-native';
import { nacl } from '../nacl.ts';
import type { Options } from '../options.ts';
import { runtimeWith } from '../platform.ts';
import Base from '../pusher.ts';
import { httpTransports } from '../transports/transport.ts';

/** WebSocket and HTTP with encrypted channels, for applications that sleep in the background. */
export default class Pusher extends Base {
  static override Runtime = runtimeWith({
    transports: httpTransports(),
    onWake: (wake) =>
      AppState.addEventListener('change', (state) => {
        if (state === 'active') wake();
      }),
  });

  constructor(key: string, options: Options) {
    super(key, options && { nacl, ...options });
  }
}
