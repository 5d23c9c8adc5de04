import { jsonp } from '../authorization/jsonp.ts';
import { runtimeWith } from '../platform.ts';
import Base from '../pusher.ts';
import { httpTransports } from '../transports/transport.ts';

/** What pusher-js has in a browser: WebSocket and HTTP, and authorisation by POST and by JSONP. */
export default class Pusher extends Base {
  static override Runtime = runtimeWith({ transports: httpTransports(), authorizers: { jsonp } });
}
