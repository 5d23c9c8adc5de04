import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { AppAddress } from '../../bench-app.ts';
import { clientFrame, clientMessage, opcodes } from '../../load/frames.ts';
import { KernelSockets } from '../../load/kernel-sockets.ts';
import { RawWebSocket } from '../../load/raw-web-socket.ts';

/** Clients of an app that send tokens with wrong signatures, as many as the server takes of a connection. */

const SENDERS = 1000;
/** As many addresses as there are, so that the limits of one do not end the attack. */
const SENDERS_OF_ADDRESS = 10;
const CONNECTING_MAX = 200;

/** Frames of a connection: a wrong token counts as this many, and ten seconds' worth may come at once. */
const TOKEN_FRAMES = 101;
const BURST_SECONDS = 10;

const issuer = { issuer: 'https://login.example.com/', audience: 'https://ws.example.com' };

/** Settings of an app that takes tokens of an issuer with a public key. */
export const grantsOfIssuer = {
  ...issuer,
  publicKeys: [
    String(
      generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
        type: 'spki',
        format: 'pem',
      }),
    ),
  ],
};

function wrongToken(): string {
  const times = { iat: Math.floor(Date.now() / 1000), exp: Math.floor(Date.now() / 1000) + 3600 };
  const claims = { sub: 'ann', iss: issuer.issuer, aud: issuer.audience, ...times };
  const parts = [{ alg: 'ES256' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  return `${parts.join('.')}.${randomBytes(64).toString('base64url')}`;
}

/** What senders have in common. */
interface Attack {
  readonly app: AppAddress;
  readonly sockets: KernelSockets;
  /** One burst, in one write. */
  readonly burst: Uint8Array;
  connecting: number;
  isBegun: boolean;
  refused: number;
  ended: number;
}

class TokenSender extends RawWebSocket {
  private readonly attack: Attack;
  private isConnected = false;
  isLost = false;

  constructor(attack: Attack, from: string) {
    super(attack.sockets, attack.app, { from, goes: 'last' });
    this.attack = attack;
    attack.connecting += 1;
  }

  sendBurst(): void {
    if (this.isConnected && !this.isLost) this.send(this.attack.burst);
  }

  protected readText(bytes: Buffer, start: number, end: number): void {
    const text = bytes.toString('latin1', start, end);
    if (text.includes('Invalid token')) this.attack.refused += 1;
    else if (text.includes('"pusher:ping"')) this.send(PONG);
    else if (text.includes('connection_established')) {
      this.attack.connecting -= 1;
      this.isConnected = true;
      if (this.attack.isBegun) this.sendBurst();
    }
  }

  protected lost(): void {
    if (this.isLost) return;
    if (!this.isConnected) this.attack.connecting -= 1;
    this.attack.ended += 1;
    this.isLost = true;
  }
}

const PONG = clientMessage({ event: 'pusher:pong', data: {} });

/** The senders of one app, and what they do. */
export class TokenSenders {
  private readonly sockets = new KernelSockets();
  private readonly attack: Attack;
  private readonly senders: TokenSender[] = [];
  private readonly tokens: number;

  constructor(app: AppAddress, framesPerSecond: number) {
    const message = { event: 'pusher:signin', data: { auth: wrongToken() } };
    const frame = clientFrame(opcodes.text, Buffer.from(JSON.stringify(message)));
    // Two fewer than would be too many.
    this.tokens = Math.floor((BURST_SECONDS * framesPerSecond) / TOKEN_FRAMES) - 2;
    const burst = Buffer.concat(Array.from({ length: this.tokens }, () => frame));
    const { sockets } = this;
    this.attack = { app, sockets, burst, connecting: 0, isBegun: false, refused: 0, ended: 0 };
  }

  /** Connects all, which send nothing yet. */
  gather(): void {
    do {
      this.connectMissing();
      this.sockets.poll(5);
    } while (this.attack.connecting > 0 || this.senders.length < SENDERS);
  }

  /** Sends bursts as often as they are allowed; connections that the server ends are replaced. Returns what it did, in words. */
  sendFor(seconds: number): string {
    const { attack, tokens } = this;
    attack.isBegun = true;
    const beganMs = performance.now();
    const passed = () => (performance.now() - beganMs) / 1000;
    for (let wave = 0; passed() < seconds; ) {
      if (passed() >= wave * BURST_SECONDS) {
        wave += 1;
        for (const sender of this.senders) sender.sendBurst();
      }
      this.connectMissing();
      this.sockets.poll(5);
    }
    const perSecond = Math.round(attack.refused / seconds).toLocaleString('en');
    return `${perSecond} wrong tokens/s refused, in bursts of ${tokens} of ${SENDERS} connections; ${attack.ended} connections ended`;
  }

  private connectMissing(): void {
    const { attack, senders } = this;
    for (let at = 0; at < SENDERS && attack.connecting < CONNECTING_MAX; at += 1) {
      if (senders[at]?.isLost === false) continue;
      const number = 2 + Math.floor(at / SENDERS_OF_ADDRESS);
      senders[at] = new TokenSender(attack, `127.0.${number >> 8}.${number & 255}`);
    }
  }
}
