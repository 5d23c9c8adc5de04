import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  verify,
  type webcrypto,
} from 'node:crypto';
import { signCertificate } from '../../src/certificates/self-signed.ts';

/** The content of a request. */
interface Asked {
  readonly method: string;
  readonly body?: string;
}

interface Account {
  readonly jwk: webcrypto.JsonWebKey;
}

interface Order {
  readonly domains: readonly string[];
  readonly tokens: readonly string[];
  readonly account: Account;
  status: 'pending' | 'ready' | 'valid' | 'invalid';
  error?: object;
  certificate?: string;
}

interface Head {
  readonly jwk?: webcrypto.JsonWebKey;
  readonly kid?: string;
  readonly nonce: string;
  readonly url: string;
}

export interface AcmeDirectoryOptions {
  readonly now: () => number;
  /** Asks a domain for the answer to a challenge. */
  readonly look: (domain: string, token: string) => Promise<string | undefined>;
}

/** An authority that speaks ACME, as far as one client needs it. It checks signatures, nonces and challenges. */
export class AcmeDirectory {
  origin = 'https://authority.test';
  lifetimeMs = 90 * 86_400_000;
  /** Refuses new orders. */
  refusal: { status: number; type: string; detail: string; retryAfter?: string } | undefined;
  /** Answers nothing. */
  isAway = false;
  /** When orders were made. */
  readonly ordersAtMs: number[] = [];
  readonly accounts = new Map<string, Account>();
  private readonly options: AcmeDirectoryOptions;
  private readonly authority = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  private readonly orders: Order[] = [];
  private readonly nonces = new Set<string>();
  /** How many nonces are still refused. */
  badNonces = 0;

  constructor(options: AcmeDirectoryOptions) {
    this.options = options;
  }

  get url(): string {
    return `${this.origin}/directory`;
  }

  /** The key that all its certificates are signed with. */
  get publicKey() {
    return this.authority.publicKey;
  }

  async fetch(url: string, { method, body = '' }: Asked): Promise<Response> {
    if (this.isAway) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    const { pathname } = new URL(url);
    if (pathname === '/directory') return this.answer({ status: 200, body: this.directory() });
    if (method === 'HEAD') return this.answer({ status: 200, body: {} });
    return this.answer(await this.post(url, pathname, body));
  }

  private directory() {
    const { origin } = this;
    return {
      newNonce: `${origin}/nonce`,
      newAccount: `${origin}/new-account`,
      newOrder: `${origin}/new-order`,
    };
  }

  private answer({ status, body, headers }: Answered): Response {
    const nonce = randomBytes(12).toString('base64url');
    this.nonces.add(nonce);
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return new Response(text, { status, headers: { ...headers, 'replay-nonce': nonce } });
  }

  private async post(url: string, path: string, body: string): Promise<Answered> {
    const jws = JSON.parse(body) as { protected: string; payload: string; signature: string };
    const head = JSON.parse(Buffer.from(jws.protected, 'base64url').toString()) as Head;
    if (!this.nonces.delete(head.nonce) || this.badNonces-- > 0) {
      return problem(400, 'badNonce', 'old');
    }
    const account = head.kid === undefined ? { jwk: head.jwk ?? {} } : this.accounts.get(head.kid);
    if (account === undefined) return problem(400, 'accountDoesNotExist', 'no such account');
    const input = Buffer.from(`${jws.protected}.${jws.payload}`);
    const key = createPublicKey({ key: account.jwk, format: 'jwk' });
    const signature = Buffer.from(jws.signature, 'base64url');
    const isSigned = verify('sha256', input, { key, dsaEncoding: 'ieee-p1363' }, signature);
    if (!isSigned || head.url !== url) return problem(401, 'unauthorized', 'wrong signature');
    const text = Buffer.from(jws.payload, 'base64url').toString();
    const payload = text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>);
    return await this.handle(path.split('/').slice(1), payload, account);
  }

  private async handle(
    [what = '', number = '0', index = '0']: readonly string[],
    payload: Record<string, unknown> | undefined,
    account: Account,
  ): Promise<Answered> {
    const { origin } = this;
    if (what === 'new-account') {
      const location = `${origin}/account/${this.accounts.size}`;
      this.accounts.set(location, account);
      return { status: 201, body: {}, headers: { location } };
    }
    if (what === 'new-order') return this.newOrder(payload, account);
    const order = this.orders[Number(number)];
    if (order === undefined) return problem(404, 'malformed', 'no such order');
    const domain = order.domains[Number(index)] ?? '';
    const token = order.tokens[Number(index)] ?? '';
    switch (what) {
      case 'authorization':
        return {
          status: 200,
          body: {
            status: order.error === undefined ? order.status.replace('ready', 'valid') : 'invalid',
            identifier: { type: 'dns', value: domain },
            challenges: [
              { type: 'dns-01', url: `${origin}/no`, token: 'x' },
              {
                type: 'http-01',
                url: `${origin}/challenge/${number}/${index}`,
                token,
                error: order.error,
              },
            ],
          },
        };
      case 'challenge':
        await this.check(order, domain, token);
        return { status: 200, body: {} };
      case 'finalize':
        order.certificate = this.issue(order, String(payload?.['csr']));
        order.status = 'valid';
        return { status: 200, body: {} };
      case 'order':
        return {
          status: 200,
          body: { status: order.status, certificate: `${origin}/certificate/${number}` },
        };
      default:
        return { status: 200, body: order.certificate ?? '' };
    }
  }

  private newOrder(payload: Record<string, unknown> | undefined, account: Account): Answered {
    this.ordersAtMs.push(this.options.now());
    if (this.refusal !== undefined) {
      const { status, type, detail, retryAfter } = this.refusal;
      const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
      return { ...problem(status, type, detail), headers };
    }
    const identifiers = payload?.['identifiers'] as readonly { value: string }[];
    const domains = identifiers.map(({ value }) => value);
    const tokens = domains.map(() => randomBytes(16).toString('base64url'));
    const number = this.orders.push({ domains, tokens, account, status: 'pending' }) - 1;
    const { origin } = this;
    return {
      status: 201,
      body: {
        status: 'pending',
        authorizations: domains.map((_, index) => `${origin}/authorization/${number}/${index}`),
        finalize: `${origin}/finalize/${number}`,
      },
      headers: { location: `${origin}/order/${number}` },
    };
  }

  private async check(order: Order, domain: string, token: string): Promise<void> {
    const { crv, kty, x, y } = order.account.jwk;
    const print = createHash('sha256').update(JSON.stringify({ crv, kty, x, y }));
    const found = await this.options.look(domain, token);
    if (found === `${token}.${print.digest('base64url')}`) {
      order.status = 'ready';
      return;
    }
    const detail = `${domain}: got ${found === undefined ? 'nothing' : JSON.stringify(found)}`;
    order.error = { type: 'urn:ietf:params:acme:error:connection', detail };
  }

  /** Reads the key of the request: the element after the version and the empty subject. */
  private issue({ domains }: Order, csr: string): string {
    const [request] = elements(Buffer.from(csr, 'base64url'));
    const [info] = elements(request?.content ?? Buffer.alloc(0));
    const [, , spki] = elements(info?.content ?? Buffer.alloc(0));
    const nowMs = this.options.now();
    return signCertificate({
      hosts: domains,
      publicKey: createPublicKey({
        key: spki?.whole ?? Buffer.alloc(0),
        format: 'der',
        type: 'spki',
      }),
      privateKey: this.authority.privateKey,
      fromMs: nowMs - 3_600_000,
      untilMs: nowMs - 3_600_000 + this.lifetimeMs,
    });
  }
}

interface Answered {
  readonly status: number;
  readonly body: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

function problem(status: number, type: string, detail: string): Answered {
  return { status, body: { type: `urn:ietf:params:acme:error:${type}`, detail } };
}

/** The elements of DER, one after the other. */
function elements(bytes: Buffer): readonly { readonly whole: Buffer; readonly content: Buffer }[] {
  const found: { whole: Buffer; content: Buffer }[] = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at + 1] ?? 0;
    const lengthBytes = first < 0x80 ? 0 : first - 0x80;
    const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes);
    const begin = at + 2 + lengthBytes;
    found.push({
      whole: bytes.subarray(at, begin + length),
      content: bytes.subarray(begin, begin + length),
    });
    at = begin + length;
  }
  return found;
}
