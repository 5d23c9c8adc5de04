import {
  markedPublish,
  newMarker,
  type PublishOptions,
  type PublishTarget,
  type PushConnection,
  PushRequests,
} from '../../../testing/clients/push-requests.ts';
import type { RawRequest } from '../../../testing/clients/raw-http.ts';
import type { Random } from '../../../testing/random.ts';

const DAY_MS = 86_400_000;

/** A publish that was sent once. */
export interface SentPublish {
  readonly marker: string;
  readonly request: RawRequest;
  readonly repeatable: boolean;
  readonly sendAtMs: number | undefined;
  /** `undefined`: it is not known whether it was accepted. */
  publishId: string | undefined;
}

/** What can be asked of a device. */
export interface DeviceState {
  /** In their order. */
  readonly interests: readonly string[];
  readonly userId: string | null;
}

export interface KnownDevice {
  readonly id: string;
  readonly token: string;
  state: DeviceState;
  /** What it may be instead, since the answer to a change of it has not come. */
  doubt: DeviceState | undefined;
}

const requests = new PushRequests();

/** A backend and its devices, which send one request after the other, and remember the answers. */
export class Site {
  readonly publishes: SentPublish[] = [];
  readonly devices: KnownDevice[] = [];
  /** Registrations of known tokens that were answered with another device. */
  readonly strangers: string[] = [];
  /** Each token that was registered, and how often that was answered. */
  readonly tokens = new Map<string, number>();
  private readonly name: string;
  private readonly random: Random;
  private readonly connection: PushConnection;
  private numbers = 0;

  constructor(name: string, random: Random, connection: PushConnection) {
    this.name = name;
    this.random = random;
    this.connection = connection;
  }

  /** Sends requests for ever; fails when the connection does. */
  async run(answered: () => void): Promise<never> {
    for (;;) {
      await this.random.pickIfAny(this.actions)?.();
      answered();
    }
  }

  private readonly actions: readonly (() => Promise<void>)[] = [
    () => this.publish(),
    () => this.publish({ users: ['nobody', this.name] }),
    () => this.publish(undefined, this.days(29)),
    () => this.publish(undefined, undefined, { idempotencyKey: `${this.name}-${this.number()}` }),
    () => this.register(this.newToken('fcm')),
    () => this.register(this.newToken('web')),
    () => this.registerAgain(),
    () => this.setInterests(),
    () => this.setUser(),
  ];

  private async publish(target?: PublishTarget, sendAtMs?: number, options: PublishOptions = {}) {
    const marker = newMarker();
    const sendAt = sendAtMs === undefined ? {} : { sendAt: new Date(sendAtMs).toISOString() };
    const request = requests.publish({ ...markedPublish(marker, target), ...sendAt }, options);
    const repeatable = options.idempotencyKey !== undefined;
    const sent: SentPublish = { marker, request, repeatable, sendAtMs, publishId: undefined };
    this.publishes.push(sent);
    const { publishId } = await this.connection.requestOk(request);
    sent.publishId = String(publishId);
  }

  private async register(token: string): Promise<void> {
    const id = await this.registered(token);
    this.devices.push({ id, token, state: { interests: [], userId: null }, doubt: undefined });
  }

  private async registered(token: string): Promise<string> {
    const answered = this.tokens.get(token) ?? 0;
    this.tokens.set(token, answered);
    const { id } = await this.connection.requestOk(
      token.startsWith('fcm') ? requests.registerFcm(token) : requests.registerWeb(token),
    );
    this.tokens.set(token, answered + 1);
    return String(id);
  }

  private async registerAgain(): Promise<void> {
    const device = this.random.pickIfAny(this.devices);
    if (device === undefined) return await this.register(this.newToken('fcm'));
    const id = await this.registered(device.token);
    if (id !== device.id) this.strangers.push(`device ${device.id} became ${id}`);
  }

  private async setInterests(): Promise<void> {
    const interests = Array.from({ length: this.upTo(8) }, () => `room-${this.number()}`);
    await this.change(
      ({ id }) => requests.setInterests(id, interests),
      ({ userId }) => ({ interests: interests.toSorted(), userId }),
    );
  }

  private async setUser(): Promise<void> {
    await this.change(
      ({ id, state }) => requests.setUser(id, state.userId ?? this.name),
      ({ interests, userId }) => ({ interests, userId: userId ?? this.name }),
    );
  }

  /** Changes a device, if there is one. */
  private async change(
    request: (device: KnownDevice) => RawRequest,
    changed: (state: DeviceState) => DeviceState,
  ): Promise<void> {
    const device = this.random.pickIfAny(this.devices);
    if (device === undefined) return await this.register(this.newToken('web'));
    device.doubt = changed(device.state);
    await this.connection.requestOk(request(device));
    device.state = device.doubt;
    device.doubt = undefined;
  }

  private newToken(platform: 'fcm' | 'web'): string {
    return `${platform}:${this.name}-${this.number()}`;
  }

  private number(): number {
    this.numbers += 1;
    return this.numbers;
  }

  private days(most: number): number {
    return Date.now() + Math.floor((0.5 + this.random.next() * (most - 0.5)) * DAY_MS);
  }

  private upTo(most: number): number {
    return Math.floor(this.random.next() * (most + 1));
  }
}
