import type { ApiClient, Called } from '../client/api-client.ts';
import { recordOf } from '../client/client-messages.ts';
import { excerpt, type Finding, failed, ok, warning } from '../finding.ts';

/** Bytes of a header that browsers and gateways reach with cookies and tokens. */
const HEADER_BYTES = 4000;
/** Events in the largest batch, and the bytes of each. Source: Channels protocol, §14.3 and §16. */
const BATCH_EVENTS = 10;
const EVENT_BYTES = 10_000;

/** Judges the answer to a signed request for the list of channels. */
export function judgeChannels(called: Called): Finding {
  if (!called.ok) return called.finding;
  const { status, body } = called.answer;
  const listed = recordOf(body);
  const channels = listed?.['channels'];
  if (status === 200 && listed !== undefined && recordOf(channels) !== undefined) {
    return ok('the key, the secret and the app id belong together');
  }
  return Array.isArray(channels)
    ? warning(
        'the list of channels is an array',
        'It should be an object; the PHP library stumbles over this. This is a fault of the server.',
      )
    : failed(
        `the list of channels is not one: ${status} "${excerpt(body, 80)}"`,
        'Another service answers at /apps/. Check the URL, and where the proxy forwards /apps/ to.',
      );
}

/** Judges the answer to a trigger. */
export function judgeTrigger(called: Called): Finding {
  if (!called.ok) return called.finding;
  const { status, body } = called.answer;
  return status === 200 && body.trim() === '{}'
    ? ok('accepted with 200 {}')
    : warning(
        `accepted, but answered with ${status} "${excerpt(body, 80)}" instead of 200 "{}"`,
        'Some libraries compare the status or the body. This is a habit of the server, or a proxy changes answers.',
      );
}

export async function checkLargeHeader(api: ApiClient): Promise<Finding> {
  const called = await api.channels({ 'X-Fanfare-Doctor': 'x'.repeat(HEADER_BYTES) });
  return called.ok
    ? ok(`a header of ${HEADER_BYTES} bytes passes`)
    : asWarning(`a header of ${HEADER_BYTES} bytes does not pass`, called.finding);
}

export async function checkLargeBody(api: ApiClient, channel: string): Promise<Finding> {
  const event = { name: 'doctor-large', channel, data: 'x'.repeat(EVENT_BYTES) };
  const called = await api.triggerBatch(Array.from({ length: BATCH_EVENTS }, () => event));
  const size = `a batch of ${BATCH_EVENTS} events of ${EVENT_BYTES} bytes`;
  return called.ok ? ok(`${size} passes`) : asWarning(`${size} does not pass`, called.finding);
}

/** What only large requests suffer from is no failure of the whole. */
function asWarning(what: string, finding: Finding): Finding {
  return warning(`${what}: ${finding.detail}`, 'advice' in finding ? finding.advice : '');
}
