import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { makeSelfSigned } from '../certificates/self-signed.ts';
import { readSigningKey } from '../gateways/apns/provider-token.ts';
import { readServiceAccount } from '../gateways/fcm/tokens/service-account.ts';
import { errorCode } from '../runtime/error-code.ts';
import { readJsonObject } from '../runtime/json-object.ts';
import type { Certificate } from '../runtime/tls/certificate.ts';
import { accountFile, type FakeAccount, newFakeAccount } from './fcm/access-token-issuer.ts';
import { newP256Pair } from './p256.ts';

/** A VAPID key pair in URL-safe base64. */
export interface VapidTexts {
  readonly publicKey: string;
  readonly privateKey: string;
}

const FILES = {
  certificate: 'ca.pem',
  certificateKey: 'ca-key.pem',
  apnsKey: 'apns-key.p8',
  serviceAccount: 'service-account.json',
  vapid: 'vapid.json',
} as const;

const DAY_MS = 24 * 3600 * 1000;

/**
 * The keys and certificates of fake gateways, stored in a directory. Those that are still valid are used again, so a
 * running server can continue after a restart of the fake gateways.
 */
export class KeptCredentials {
  readonly certificate: Certificate;
  readonly apnsKey: KeyObject;
  readonly account: FakeAccount;
  readonly vapid: VapidTexts;
  private readonly directory: string;

  /** The certificate must be for all `hosts`. Throws if the directory cannot be written to. */
  constructor(directory: string, hosts: readonly string[], nowMs: number) {
    this.directory = directory;
    mkdirSync(directory, { recursive: true });
    this.certificate = this.keptCertificate(hosts, nowMs) ?? this.newCertificate(hosts, nowMs);
    this.apnsKey = this.keptApnsKey() ?? this.newApnsKey();
    this.account = this.keptAccount() ?? newFakeAccount();
    this.vapid = this.keptVapid() ?? this.newVapid();
  }

  /** Path of a file, for the settings of a server. */
  path(file: keyof typeof FILES): string {
    return join(this.directory, FILES[file]);
  }

  /** Writes the service account's file. It names the token URI, whose port may differ each time. */
  writeAccount(tokenUri: string): void {
    this.write('serviceAccount', accountFile(this.account, tokenUri));
  }

  private keptCertificate(hosts: readonly string[], nowMs: number): Certificate | undefined {
    const cert = this.read('certificate');
    const key = this.read('certificateKey');
    try {
      const read = new X509Certificate(cert);
      const isGood =
        hosts.every((host) => (isIP(host) ? read.checkIP(host) : read.checkHost(host))) &&
        Date.parse(read.validTo) > nowMs + DAY_MS &&
        read.checkPrivateKey(createPrivateKey(key));
      return isGood ? { cert, key } : undefined;
    } catch {
      // Not a certificate with its key.
      return undefined;
    }
  }

  private newCertificate(hosts: readonly string[], nowMs: number): Certificate {
    const made = makeSelfSigned(hosts, nowMs);
    this.write('certificateKey', made.key);
    this.write('certificate', made.cert);
    return made;
  }

  private keptApnsKey(): KeyObject | undefined {
    const read = readSigningKey(this.read('apnsKey'));
    return read.ok ? read.key : undefined;
  }

  private newApnsKey(): KeyObject {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.write('apnsKey', String(privateKey.export({ format: 'pem', type: 'pkcs8' })));
    return privateKey;
  }

  private keptAccount(): FakeAccount | undefined {
    const read = readServiceAccount(Buffer.from(this.read('serviceAccount')));
    if (!read.ok) return undefined;
    const { projectId, clientEmail, privateKey } = read.account;
    return { projectId, clientEmail, privateKey, publicKey: createPublicKey(privateKey) };
  }

  private keptVapid(): VapidTexts | undefined {
    const { publicKey, privateKey } = readJsonObject(Buffer.from(this.read('vapid'))) ?? {};
    return typeof publicKey === 'string' && typeof privateKey === 'string'
      ? { publicKey, privateKey }
      : undefined;
  }

  private newVapid(): VapidTexts {
    const { publicText, privateText } = newP256Pair();
    const vapid = { publicKey: publicText, privateKey: privateText };
    this.write('vapid', `${JSON.stringify(vapid, undefined, 2)}\n`);
    return vapid;
  }

  /** The text of a file; empty if it does not exist, which no reader accepts. */
  private read(file: keyof typeof FILES): string {
    try {
      return readFileSync(this.path(file), 'utf8');
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return '';
      throw error;
    }
  }

  private write(file: keyof typeof FILES, text: string): void {
    // Only the certificate is public.
    writeFileSync(this.path(file), text, { mode: file === 'certificate' ? 0o644 : 0o600 });
  }
}
