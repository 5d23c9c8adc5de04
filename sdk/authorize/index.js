const given = (value) => (typeof value === 'function' ? value() : value);

async function post(url, fields, { headers, params }) {
  const body = new URLSearchParams({ ...(await given(params)), ...fields });
  const answer = await fetch(url, { method: 'POST', headers: await given(headers), body });
  if (answer.ok) return answer.json();
  throw refused(url, answer.status);
}

const refused = (what, status) =>
  Object.assign(new Error(`${what} was refused with ${status}`), { status });

/** The claims of a JWT. Names of channels are ASCII, so other characters do not matter. */
const claimsOf = (token) =>
  JSON.parse(atob(token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/')));

/** The key of an encrypted channel comes from the backend alone. */
const isEncrypted = (name) => name.startsWith('private-encrypted-');

const covers = (patterns, channel) =>
  Object.entries(patterns).some(
    ([name, rights]) =>
      rights?.includes?.('subscribe') &&
      !isEncrypted(channel) &&
      (name.endsWith('*') ? channel.startsWith(name.slice(0, -1)) : channel === name),
  );

/** Makes options by which pusher-js asks the backend once, and not for each channel. */
export function authorize(options) {
  const { endpoint, userEndpoint, token, channelsClaim = 'channels', delayMs = 0 } = options;
  /** The last sign-in: its socket, and what its grant allows. */
  let signedIn = {};
  /** By socket, the channels of the next request. */
  const waiting = new Map();

  const signIn = async (socketId) => {
    if (!token) {
      const answer = await post(userEndpoint, { socket_id: socketId }, options);
      return [answer, () => JSON.parse(answer.user_data).grants.channels];
    }
    const auth = await token();
    return [{ auth, user_data: '' }, () => claimsOf(auth)[channelsClaim]];
  };

  const signInHandler = ({ socketId }, done) => {
    const answer = signIn(socketId);
    // What cannot be read covers nothing.
    const patterns = answer.then(([, read]) => read() ?? {}).catch(() => ({}));
    signedIn = { socketId, patterns };
    answer.then(
      ([data]) => done(null, data),
      (error) => done(error, null),
    );
  };

  const ask = async (socketId) => {
    const patterns = (signedIn.socketId === socketId && (await signedIn.patterns)) || {};
    const left = [];
    for (const [channel, done] of waiting.get(socketId)) {
      if (covers(patterns, channel)) done(null, { auth: '' });
      else left.push([channel, done]);
    }
    waiting.delete(socketId);
    if (!left[0]) return;
    const fields = { socket_id: socketId };
    left.forEach(([channel], n) => {
      fields[`channel_name[${n}]`] = channel;
    });
    const answers = post(endpoint, fields, options);
    for (const [channel, done] of left) {
      answers.then(
        (all) => {
          const { status = 200, data } = all?.[channel] ?? { status: 403 };
          if (status === 200) done(null, data);
          else done(refused(channel, status), null);
        },
        (error) => done(error, null),
      );
    }
  };

  const channelHandler = ({ socketId, channelName }, done) => {
    if (!waiting.has(socketId)) {
      waiting.set(socketId, new Map());
      setTimeout(ask, delayMs, socketId);
    }
    waiting.get(socketId).set(channelName, done);
  };

  const by = (url, customHandler) => ({ endpoint: url, transport: 'ajax', customHandler });
  const channelAuthorization = by(endpoint, channelHandler);
  return userEndpoint || token
    ? { channelAuthorization, userAuthentication: by(userEndpoint, signInHandler) }
    : { channelAuthorization };
}
