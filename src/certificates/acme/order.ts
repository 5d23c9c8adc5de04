import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import type { Timers } from '../../runtime/ports.ts';
import type { Certificate } from '../../runtime/tls/certificate.ts';
import type { KeptAccount } from '../kept.ts';
import { signingRequest } from '../signing-request.ts';
import { AcmeFault, readProblem, refusedBy, unchecked } from './fault.ts';
import { type AcmeAnswer, AcmeLink, type SendToAuthority } from './link.ts';

/** The pause between polls if the authority names none, and the bounds if it does. Milliseconds. */
const POLL_MS = 2_000;
const POLL_MIN_MS = 1_000;
const POLL_MAX_MS = 15_000;

/** A token is a file name of a URL. Source: RFC 8555, 8.3. */
const TOKEN = /^[\w-]{1,200}$/;

export interface OrderOptions {
  readonly directory: string;
  readonly email: string;
  readonly domains: readonly string[];
  /** `undefined`: there is no account yet. */
  readonly account: KeptAccount | undefined;
  readonly keepAccount: (account: KeptAccount) => Promise<void>;
  /** Publishes the answers to the challenges, by token. Settles when every server gives them. */
  readonly offer: (challenges: ReadonlyMap<string, string>) => Promise<void>;
  readonly send: SendToAuthority;
  readonly timers: Timers;
  /** Aborts the order. */
  readonly signal: AbortSignal;
}

/** Orders a certificate and proves by HTTP-01 that the domains lead here. Throws `AcmeFault`. Source: RFC 8555, 7. */
export async function orderCertificate(options: OrderOptions): Promise<Certificate> {
  return await new Order(options).run();
}

class Order {
  private readonly options: OrderOptions;

  constructor(options: OrderOptions) {
    this.options = options;
  }

  async run(): Promise<Certificate> {
    const { domains } = this.options;
    const { link, order } = await this.begin();
    await this.prove(link, order);
    const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const csr = signingRequest(domains, keys).toString('base64url');
    const orderUrl = link.checked(order.location, 'the address of the order');
    await link.post(link.checked(order.body['finalize'], '"finalize" of the order'), { csr });
    const done = await this.settled(link, orderUrl, (status) => status === 'valid');
    if (done.body['status'] !== 'valid') throw refusedBy(readProblem(done.body['error']));
    const { text } = await link.post(
      link.checked(done.body['certificate'], '"certificate" of the order'),
    );
    const key = String(keys.privateKey.export({ format: 'pem', type: 'pkcs8' }));
    this.check({ cert: text, key });
    return { cert: text, key };
  }

  /**
   * Creates the order with the existing account. Makes a new account if the authority no longer knows the old one, or
   * has deactivated it.
   */
  private async begin(): Promise<{ readonly link: AcmeLink; readonly order: AcmeAnswer }> {
    const { account, directory, email, domains } = this.options;
    const identifiers = domains.map((value) => ({ type: 'dns', value }));
    if (account?.directory === directory && account.email === email) {
      const link = await this.open(account.key);
      link.account = account.url;
      try {
        return { link, order: await link.post(link.urlOf('newOrder'), { identifiers }) };
      } catch (error) {
        const type = error instanceof AcmeFault ? error.type : '';
        if (type !== 'accountDoesNotExist' && type !== 'unauthorized') throw error;
      }
    }
    const link = await this.register();
    return { link, order: await link.post(link.urlOf('newOrder'), { identifiers }) };
  }

  private async open(accountKey: string): Promise<AcmeLink> {
    const { directory, send, timers, signal } = this.options;
    const link = new AcmeLink({ directory, accountKey, send, clock: timers, signal });
    await link.open();
    return link;
  }

  private async register(): Promise<AcmeLink> {
    const { directory, email, keepAccount } = this.options;
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = String(privateKey.export({ format: 'pem', type: 'pkcs8' }));
    const link = await this.open(key);
    const { location } = await link.post(link.urlOf('newAccount'), {
      termsOfServiceAgreed: true,
      contact: [`mailto:${email}`],
    });
    link.account = link.checked(location, 'the address of the account');
    await keepAccount({ directory, email, url: link.account, key });
    return link;
  }

  /** Answers a challenge for each domain that the authority has not checked recently. */
  private async prove(link: AcmeLink, { body }: AcmeAnswer): Promise<void> {
    const list: readonly unknown[] = Array.isArray(body['authorizations'])
      ? body['authorizations'].slice(0, this.options.domains.length)
      : [];
    const answers = new Map<string, string>();
    const challenges: { readonly authorization: string; readonly challenge: string }[] = [];
    for (const one of list) {
      const authorization = link.checked(one, 'an authorization of the order');
      const { body: found } = await link.post(authorization);
      if (found['status'] === 'valid') continue;
      const { url, token } = httpChallenge(found);
      answers.set(token, link.keyAuthorization(token));
      const challenge = link.checked(url, 'the address of a challenge');
      challenges.push({ authorization, challenge });
    }
    if (challenges.length === 0) return;
    await this.options.offer(answers);
    for (const { challenge } of challenges) await link.post(challenge, {});
    for (const { authorization } of challenges) {
      const { body: checked } = await this.settled(
        link,
        authorization,
        (status) => status !== 'pending',
      );
      if (checked['status'] !== 'valid') throw unchecked(domainOf(checked), problemOf(checked));
    }
  }

  /** Polls an object until its status is the expected one, or `invalid`. */
  private async settled(
    link: AcmeLink,
    url: string,
    isSettled: (status: unknown) => boolean,
  ): Promise<AcmeAnswer> {
    for (;;) {
      const answer = await link.post(url);
      const { status } = answer.body;
      if (isSettled(status) || status === 'invalid') return answer;
      await this.wait(Math.min(Math.max(answer.retryAfterMs ?? POLL_MS, POLL_MIN_MS), POLL_MAX_MS));
    }
  }

  private async wait(ms: number): Promise<void> {
    const { timers, signal } = this.options;
    const waited = Promise.withResolvers<void>();
    const cancel = timers.after(ms, waited.resolve);
    signal.addEventListener('abort', () => waited.resolve(), { once: true });
    await waited.promise;
    cancel();
    if (signal.aborted) throw new AcmeFault('The authority took too long');
  }

  private check({ cert, key }: Certificate): void {
    const { domains, timers } = this.options;
    const why = whyUseless(cert, key, { domains, nowMs: timers.now() });
    if (why !== undefined) throw new AcmeFault(`The authority gave a useless certificate: ${why}`);
  }
}

function whyUseless(
  cert: string,
  key: string,
  { domains, nowMs }: { readonly domains: readonly string[]; readonly nowMs: number },
): string | undefined {
  let read: X509Certificate;
  try {
    read = new X509Certificate(cert);
  } catch {
    return 'it cannot be read';
  }
  if (!read.checkPrivateKey(createPrivateKey(key))) return 'it is for another key';
  const missing = domains.find((domain) => read.checkHost(domain) === undefined);
  if (missing !== undefined) return `it is not for ${missing}`;
  if (read.validToDate.getTime() > nowMs) return undefined;
  return `it ended on ${read.validToDate.toISOString()}. Check the clock of this machine`;
}

function httpChallenge(authorization: Readonly<Record<string, unknown>>) {
  const list = challengesOf(authorization);
  const found = list.find(({ type }) => type === 'http-01');
  const token = found?.['token'];
  if (typeof token === 'string' && TOKEN.test(token)) return { url: found?.['url'], token };
  throw new AcmeFault(`The authority does not check ${domainOf(authorization)} by HTTP (http-01)`);
}

type Fields = Readonly<Record<string, unknown>>;

function challengesOf({ challenges }: Fields): readonly Fields[] {
  return Array.isArray(challenges) ? challenges.map((one: unknown) => ({ ...Object(one) })) : [];
}

function domainOf({ identifier }: Fields): string {
  const { value } = Object(identifier) as Fields;
  return typeof value === 'string' && /^[\w.-]{1,255}$/.test(value) ? value : 'a domain';
}

/** The error of the challenge that failed. */
function problemOf(authorization: Fields) {
  const failed = challengesOf(authorization).find(({ error }) => error !== undefined);
  return readProblem(failed?.['error']);
}
