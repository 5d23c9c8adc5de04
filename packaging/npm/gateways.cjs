const { createHmac, randomBytes } = require('node:crypto');

/*
 * Stand-ins for the gateways of Apple and Google and for the push services of browsers, and the devices of a test: see
 * `fanfare fake-gateways`.
 */

/** How long a device waits for a notification if the test does not say, in milliseconds. */
const WAIT_MS = 5000;

/** What one device keeps for its test. */
const NOTIFICATIONS_MAX = 10_000;

class Gateways {
  static async start(programs) {
    const ports = ['--port', '--apns-port', '--fcm-port', '--web-port'].flatMap((port) => [
      port,
      '0',
    ]);
    const args = ['fake-gateways', '--json', '--directory', 'fake-gateways', ...ports];
    const inboxes = new Map();
    const { controlUrl, settings } = JSON.parse(
      await programs.start(args, (line) => {
        const { received } = JSON.parse(line);
        inboxes.get(received.to)?.put(received);
      }),
    );
    return new Gateways(controlUrl, settings, inboxes);
  }

  constructor(url, settings, inboxes) {
    this.url = url;
    this.settings = settings;
    this.inboxes = inboxes;
  }

  /** What the tests of this server see of them. */
  of({ push, instance }) {
    const { url } = this;
    return {
      url,
      register: (platform, options) => this.register({ push, instance, platform, ...options }),
      script: async (rule) => {
        await ask(`${url}/script`, 'POST', { body: rule });
      },
    };
  }

  /** Registers a device as the SDKs do. */
  async register({ push, instance, platform, interests = [], userId }) {
    const { to, ...body } = await this.newToken(platform);
    const devices = `${push.url}/device_api/v1/instances/${instance.id}/devices/${platform}`;
    const inbox = new Inbox();
    this.inboxes.set(to, inbox);
    const { id } = await ask(devices, 'POST', { body });
    if (interests.length > 0)
      await ask(`${devices}/${id}/interests`, 'PUT', { body: { interests } });
    if (userId !== undefined) {
      await ask(`${devices}/${id}/user`, 'PUT', { bearer: tokenOf(instance, userId) });
    }
    return {
      id,
      token: to,
      nextNotification: ({ timeoutMs = WAIT_MS } = {}) => inbox.next(timeoutMs),
    };
  }

  async newToken(platform) {
    if (platform === 'fcm') {
      const token = `test:${randomBytes(32).toString('base64url')}`;
      return { to: token, token };
    }
    if (platform === 'apns') {
      const token = randomBytes(32).toString('hex');
      return { to: token, token, bundleIdentifier: 'com.example.test' };
    }
    // A browser subscribes with a key of its own.
    const applicationServerKey = this.settings.web.vapid.publicKey;
    const { endpoint, token } = await ask(`${this.url}/subscriptions`, 'POST', {
      body: { applicationServerKey },
    });
    return { to: endpoint, token };
  }
}

/** What arrived for one device and was not taken yet, and who waits for it. */
class Inbox {
  constructor() {
    this.arrived = [];
    this.waiting = [];
  }

  put(notification) {
    const next = this.waiting.shift();
    if (next !== undefined) next(notification);
    else if (this.arrived.push(notification) > NOTIFICATIONS_MAX) this.arrived.shift();
  }

  next(timeoutMs) {
    const first = this.arrived.shift();
    if (first !== undefined) return Promise.resolve(first);
    return new Promise((resolve, reject) => {
      const take = (notification) => {
        clearTimeout(timer);
        resolve(notification);
      };
      const timer = setTimeout(() => {
        this.waiting.splice(this.waiting.indexOf(take), 1);
        reject(new Error(`No notification arrived within ${timeoutMs} ms`));
      }, timeoutMs);
      this.waiting.push(take);
    });
  }
}

/** The token by which a backend tells who the user of a device is, as its library makes it. */
function tokenOf({ id, secretKey }, userId) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const iss = `https://${id}.pushnotifications.pusher.com`;
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub: userId, iss, exp })}`;
  return `${signed}.${createHmac('sha256', secretKey).update(signed).digest('base64url')}`;
}

async function ask(url, method, { body, bearer }) {
  const answer = await fetch(url, {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${text}`);
  return text === '' ? {} : JSON.parse(text);
}

module.exports = { Gateways };
