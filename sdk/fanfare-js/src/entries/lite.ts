import { runtimeWith } from '../platform.ts';
import Base from '../pusher.ts';

/** WebSocket only. */
export default class Pusher extends Base {
  static override Runtime = runtimeWith();
}
