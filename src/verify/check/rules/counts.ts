import type { MakeRule } from '../rule.ts';
import { checkBeliefs } from './present.ts';

/** While nothing changes, the last count that a subscriber was told is the number of subscriptions. */
export const counts: MakeRule = (recording, report) => ({
  see: {
    calm: checkBeliefs(
      recording,
      report,
      'counts',
      ({ count, channel: { name, live }, connection }) =>
        count === undefined || count === live.size
          ? undefined
          : `client ${connection.client.id} was last told of ${count} subscriptions of ${name}, but there were ${live.size}`,
    ),
  },
});
