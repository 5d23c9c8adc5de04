import { expect } from 'bun:test';
import type { RawAnswer } from '../../testing/clients/raw-http.ts';
import type { Decision, MobileJob, MobileReport, MobileSdk } from './mobile-sdks.ts';
import { type Transcript, TranscriptConnection } from './transcript.ts';

/** Longer than the pause between two checks of the store; shorter than the timeout of a test. */
const RETRY_MAX_MS = 60_000;

/**
 * An app on one device with one of the SDKs. It has the state of the SDK and reacts to each answer as the SDK does, but
 * without pauses. Source: push protocol, §3.7.
 */
export class InstalledApp implements AsyncDisposable {
  deviceId = '';
  readonly interests = new Set<string>();
  userId: string | undefined;
  readonly sdk: MobileSdk;
  private readonly connection: TranscriptConnection;
  private readonly fetchUserToken: (userId: string) => string;
  private pushToken = '';
  private conversation: string[] = [];

  private constructor(
    sdk: MobileSdk,
    connection: TranscriptConnection,
    fetchUserToken: (userId: string) => string,
  ) {
    this.sdk = sdk;
    this.connection = connection;
    this.fetchUserToken = fetchUserToken;
  }

  /** `fetchUserToken` asks the backend of the app for a token. */
  static async install(
    sdk: MobileSdk,
    server: { readonly pushPort: number },
    fetchUserToken: (userId: string) => string,
  ): Promise<InstalledApp> {
    return new InstalledApp(sdk, await TranscriptConnection.open(server), fetchUserToken);
  }

  /** The requests since the last call, each with the status of its answer. */
  takeConversation(): string[] {
    const taken = this.conversation;
    this.conversation = [];
    return taken;
  }

  async start(pushToken: string, previousIds: readonly string[] = []): Promise<Decision> {
    this.pushToken = pushToken;
    const decision = await this.register(previousIds);
    if (decision === 'done' && this.interests.size > 0) await this.sync();
    return decision;
  }

  /** Does what an SDK does once per start of the app. */
  async launch(): Promise<void> {
    await this.ask('set metadata', this.sdk.setMetadata(this.deviceId));
    await this.sync();
  }

  async addInterest(name: string): Promise<Decision> {
    this.interests.add(name);
    return await this.perform('add interest', (id) => this.sdk.addInterest(id, name));
  }

  async removeInterest(name: string): Promise<Decision> {
    this.interests.delete(name);
    return await this.perform('remove interest', (id) => this.sdk.removeInterest(id, name));
  }

  async setInterests(names: readonly string[]): Promise<Decision> {
    this.interests.clear();
    for (const name of names) this.interests.add(name);
    return await this.perform('set interests', (id) => this.sdk.setInterests(id, names));
  }

  async setUser(userId: string, token = this.fetchUserToken(userId)): Promise<Decision> {
    const decision = await this.perform('set user', (id) => this.sdk.setUser(id, token));
    if (decision === 'done') this.userId = userId;
    return decision;
  }

  /** Android only. */
  async refreshToken(pushToken: string): Promise<Decision> {
    const { setToken } = this.sdk;
    if (setToken === undefined) throw new Error('This SDK never reports a new token');
    this.pushToken = pushToken;
    return await this.perform('set token', (id) => setToken(id, pushToken));
  }

  async report(report: Omit<MobileReport, 'deviceId' | 'userId'>): Promise<Decision> {
    const { userId } = this;
    return await this.perform('report', (deviceId) =>
      this.sdk.report({ ...report, deviceId, userId }),
    );
  }

  async stop(): Promise<Decision> {
    const decision = await this.perform('delete', (id) => this.sdk.delete(id));
    this.interests.clear();
    this.userId = undefined;
    return decision;
  }

  /** Sends one request and returns its answer, whatever its status. */
  async ask(job: MobileJob, request: Transcript): Promise<RawAnswer> {
    const answer = await this.connection.sends(request);
    this.conversation.push(`${job}: ${answer.status}`);
    if (answer.status === 200) expectSuccess(job, answer);
    else expectRefusal(answer);
    return answer;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.connection[Symbol.asyncDispose]();
  }

  private async perform(
    job: MobileJob,
    request: (deviceId: string) => Transcript,
  ): Promise<Decision> {
    const { decision } = await this.settle(job, request);
    return decision;
  }

  /** Repeats a request until the SDK would stop repeating it. */
  private async settle(
    job: MobileJob,
    request: (deviceId: string) => Transcript,
  ): Promise<{ readonly decision: Decision; readonly body: string }> {
    const deadlineMs = Date.now() + RETRY_MAX_MS;
    for (;;) {
      const answer = await this.ask(job, request(this.deviceId));
      const decision = this.sdk.decide(job, answer);
      switch (decision) {
        case 'retry':
          break;
        case 'register again':
          await this.registerAgain();
          break;
        default:
          return { decision, body: answer.body };
      }
      if (Date.now() > deadlineMs) throw new Error(`Asked for too long: ${answer.body}`);
    }
  }

  private async register(previousIds: readonly string[] = []): Promise<Decision> {
    const { decision, body } = await this.settle('register', () =>
      this.sdk.register(this.pushToken, previousIds),
    );
    if (decision === 'done') this.deviceId = JSON.parse(body).id;
    return decision;
  }

  private async registerAgain(): Promise<void> {
    expect(await this.register()).toBe('done');
    if (this.interests.size > 0) await this.sync();
    if (this.userId !== undefined) expect(await this.setUser(this.userId)).toBe('done');
  }

  private async sync(): Promise<void> {
    await this.ask('set interests', this.sdk.setInterests(this.deviceId, [...this.interests]));
  }
}

/** Answers to registrations and reports are JSON; all others are empty. */
function expectSuccess(job: MobileJob, { headers, body }: RawAnswer): void {
  if (job === 'register' || job === 'report') {
    expect(headers.get('content-type')).toBe('application/json');
    expect(typeof JSON.parse(body)).toBe('object');
  } else {
    expect([headers.get('content-length'), body]).toEqual(['0', '']);
  }
}

/** Push protocol, §1.3. */
function expectRefusal({ headers, body }: RawAnswer): void {
  expect(headers.get('content-type')).toBe('application/json');
  const nonEmpty = expect.stringMatching(/./);
  expect(JSON.parse(body)).toEqual({ error: nonEmpty, description: nonEmpty });
}
