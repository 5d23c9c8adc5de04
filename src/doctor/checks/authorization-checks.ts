import { parseJsonObject } from '../../runtime/json-object.ts';
import { ask, type HttpAnswer } from '../client/http-exchange.ts';
import { checkName, checkTcp, checkTls, type Manner } from '../client/reach.ts';
import { channelAuth } from '../client/signed-request.ts';
import { describeAnswer, explainSilence, isHtml } from '../explain/explain-answer.ts';
import { excerpt, type Finding, failed, ok, warning } from '../finding.ts';
import { parseAddress } from '../target.ts';

/** The endpoint of an app that says who may enter private and presence channels, and what to ask it. */
export interface AuthorizationEndpoint {
  readonly url: string;
  /** A channel that the visitor may enter; without it, one that no app knows. */
  readonly channel: string | undefined;
  /** What the browser of the visitor sends along, such as its cookie. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What the endpoint is asked for, and what its answer must fit. */
export interface AuthorizationAsked {
  readonly socketId: string;
  readonly channel: string;
  /** Whether the app is known to let the visitor in. */
  readonly isExpected: boolean;
  readonly key: string;
  readonly secret: string | undefined;
}

/** Asks the endpoint of an app as `pusher-js` does, and judges the answer as `pusher-js` and the server would. */
export async function checkAuthorization(
  { url, headers }: AuthorizationEndpoint,
  asked: AuthorizationAsked,
  manner: Manner,
): Promise<Finding> {
  const parsed = parseAddress('--auth-endpoint', url);
  if (!parsed.ok) return failed(parsed.detail, parsed.advice);
  const { endpoint, target } = parsed;
  const name = await checkName(endpoint, manner);
  if (name.finding.result === 'failed') return name.finding;
  const tcp = await checkTcp(endpoint, name.found, manner);
  if (tcp.destination === undefined) return tcp.finding;
  const tls = await checkTls(tcp.destination, manner);
  if (tls.result === 'failed' && !manner.insecure) return tls;

  const form = new URLSearchParams({ socket_id: asked.socketId, channel_name: asked.channel });
  const answer = await ask(
    tcp.destination,
    {
      method: 'POST',
      target,
      headers: { ...headers, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: String(form),
    },
    manner.timeoutMs,
  );
  return answer.kind === 'answer'
    ? judgeAuthorization(answer, asked)
    : explainSilence(answer, endpoint, manner.timeoutMs);
}

/** What an answer to the request for an authorisation would do to a client. */
export function judgeAuthorization(answer: HttpAnswer, asked: AuthorizationAsked): Finding {
  if (answer.status !== 200) return explainStatus(answer, asked);
  const said = describeAnswer(answer);
  if (isHtml(answer)) {
    return failed(
      `the endpoint answers with HTML and not with JSON: ${said}`,
      'Usually this is the page for logging in, or the page that an app with its routes in the browser answers for every path. Check the path, and give the cookie of a visitor who is logged in with --auth-headers-file.',
    );
  }
  const given = parseJsonObject(answer.body);
  if (given === undefined) {
    return failed(
      `the endpoint answers with something that is no JSON object: ${said}`,
      'Answer with what the library of your backend returns (authorizeChannel, authenticate), as JSON, and print nothing before it: also no warnings and no byte order mark.',
    );
  }
  return judgeContent(given, asked);
}

function explainStatus(answer: HttpAnswer, { channel, isExpected }: AuthorizationAsked): Finding {
  const { status, headers } = answer;
  const said = describeAnswer(answer);
  const location = headers.get('location');
  if (status >= 300 && status < 400) {
    return failed(
      `the endpoint redirects (${status}${location === undefined ? '' : ` to ${excerpt(location)}`})`,
      'A browser follows it with a GET and gets a page instead of JSON. An app redirects to its login if the visitor is not logged in: give the cookie of one who is with --auth-headers-file. Otherwise write the address as the redirect does: with https://, with or without the slash at its end.',
    );
  }
  if (status === 419 || /csrf/i.test(answer.body)) {
    return failed(
      `the endpoint asks for a CSRF token: ${said}`,
      'Send it in the headers of channelAuthorization, such as X-CSRF-TOKEN; Laravel Echo takes it from <meta name="csrf-token">. Here, give it and the cookie with --auth-headers-file. Or take this path out of the protection.',
    );
  }
  if (status === 401 || status === 403) {
    const detail = `the endpoint refuses ${channel}: ${said}`;
    // Nobody may enter a channel that the app does not know.
    return isExpected
      ? failed(
          detail,
          'The app does not let this visitor in. Check that the cookie or the token arrives (a page on another site needs CORS with credentials), and the rule for this channel (Laravel: routes/channels.php, where the name has no "private-"). Give the headers of a visitor with --auth-headers-file.',
        )
      : warning(
          detail,
          'It answers, and may be right to refuse this channel. To see whether it signs correctly, name one that a visitor may enter with --auth-channel, and give the headers of that visitor with --auth-headers-file.',
        );
  }
  if (status === 404 || status === 405) {
    return failed(
      `there is no such endpoint for POST: ${said}`,
      'Check the path (Laravel: /broadcasting/auth, made by "php artisan install:broadcasting"), and that the route takes POST.',
    );
  }
  return failed(
    `the endpoint answers ${said}, and clients take nothing but 200`,
    status >= 500
      ? 'The app failed; look at its log. PHP: the key, secret or app id of the connection may be empty.'
      : 'Look at the log of the app for this request.',
  );
}

function judgeContent(given: Readonly<Record<string, unknown>>, asked: AuthorizationAsked) {
  const { channel, key, secret, socketId } = asked;
  const { auth, channel_data: data, shared_secret: shared } = given;
  if (typeof auth !== 'string') {
    const names = Object.keys(given).join(', ');
    return failed(
      `the JSON of the endpoint has no text "auth"; it has ${names === '' ? 'nothing' : excerpt(names)}`,
      'Answer with what the library of your backend returns (authorizeChannel, authenticate) as it is, and do not put it into another object.',
    );
  }
  const [, signer, signature] = /^([^:]*):([0-9a-f]{64})$/.exec(auth) ?? [];
  if (signer === undefined || signature === undefined) {
    return failed(
      '"auth" is not KEY:SIGNATURE with a signature of 64 hexadecimal digits',
      'Let the library of your backend make it. By hand: HMAC-SHA256 of "SOCKET_ID:CHANNEL_NAME", and of ":CHANNEL_DATA" after it if there is any, with the secret, as lower-case hexadecimal.',
    );
  }
  if (signer !== key) {
    return failed(
      `"auth" is signed with the key ${excerpt(signer)}, but clients connect with ${key}`,
      'Page and backend have the keys of two apps. Give both the same key (PUSHER_APP_KEY and VITE_PUSHER_APP_KEY; pages must be built again).',
    );
  }
  const missing = missingIn(channel, data, shared);
  if (missing !== undefined) return missing;
  if (secret === undefined) {
    return ok(
      `it answers with "auth"; whether it is signed with the right secret was not checked, it needs --secret`,
    );
  }
  const signed = typeof data === 'string' ? `${channel}:${data}` : channel;
  if (channelAuth(key, secret, socketId, signed) === auth) {
    return ok(`${channel} is authorised and signed as the server expects`);
  }
  if (signed !== channel && channelAuth(key, secret, socketId, channel) === auth) {
    return failed(
      '"channel_data" is not part of the signature',
      'Sign "SOCKET_ID:CHANNEL_NAME:CHANNEL_DATA", with exactly the text of channel_data that is answered.',
    );
  }
  return failed(
    'the signature is wrong, and the server will refuse it',
    'The backend signs with another secret than the one given here, or signs other values than the socket_id and channel_name that were sent. Compare the secret with that of the app (fanfare apps show ID --secret), also for a space or a line break at its end.',
  );
}

/** What a presence or an encrypted channel needs besides "auth". */
function missingIn(channel: string, data: unknown, shared: unknown): Finding | undefined {
  if (channel.startsWith('presence-')) {
    const user = typeof data === 'string' ? parseJsonObject(data) : undefined;
    const id = user?.['user_id'];
    if ((typeof id !== 'string' && typeof id !== 'number') || id === '') {
      return failed(
        `the answer for a presence channel needs "channel_data": a text with JSON that has a user_id; it is ${data === undefined ? 'missing' : excerpt(JSON.stringify(data))}`,
        'Give the user to the library: authorizeChannel(socketId, channel, { user_id, user_info }). In Laravel, the rule of the channel returns an array, not true.',
      );
    }
  }
  if (channel.startsWith('private-encrypted-')) {
    const bytes = typeof shared === 'string' ? Buffer.from(shared, 'base64').length : 0;
    if (bytes !== 32) {
      return failed(
        'the answer for an encrypted channel needs "shared_secret": 32 bytes as base64',
        'Give the library of your backend its encryption master key (encryptionMasterKeyBase64).',
      );
    }
  }
  return undefined;
}
