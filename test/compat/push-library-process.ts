import { join } from 'node:path';
import type PushNotifications from '@pusher/push-notifications-server';
import { INSTANCE } from '../../testing/servers/push-server.ts';
import { JsonProcess } from './json-process.ts';

type PublishRequest = PushNotifications.PublishRequest;

/** The outcome of one call: a value, which may be `undefined`, or an error with this message. */
interface Outcome {
  readonly value?: unknown;
  readonly error?: string;
  readonly warnings: readonly string[];
}

export interface PushLibrarySetup {
  readonly instanceId?: string;
  readonly secretKey?: string;
  /** The library's default is http. */
  readonly protocol?: 'http' | 'https';
}

type PushServer = { readonly pushPort: number };

/**
 * The official server library of Beams, unchanged, in another process: in Node, where most run it, or in Bun. A
 * call fails as the library does. If the library ends its process, every later call fails.
 */
export class PushLibraryProcess implements Disposable {
  /** The warnings of the last call. */
  warnings: readonly string[] = [];
  private readonly process: JsonProcess<Outcome>;
  private readonly setup: object;

  private constructor(
    process: JsonProcess<Outcome>,
    { pushPort }: PushServer,
    { protocol, ...over }: PushLibrarySetup = {},
  ) {
    const { id: instanceId, secretKey } = INSTANCE;
    const options = { instanceId, secretKey, endpoint: '127.0.0.1', port: pushPort, ...over };
    this.process = process;
    this.setup = { options, protocol };
  }

  static start(
    command: string,
    server: PushServer,
    environment?: Readonly<Record<string, string>>,
  ): PushLibraryProcess {
    const script = join(import.meta.dir, 'push-library-process.mjs');
    return new PushLibraryProcess(new JsonProcess(command, script, {}, environment), server);
  }

  /** The library with another setup, in the same process. */
  as(server: PushServer, setup?: PushLibrarySetup): PushLibraryProcess {
    return new PushLibraryProcess(this.process, server, setup);
  }

  publishToInterests(interests: readonly string[], request: PublishRequest): Promise<unknown> {
    return this.call('publishToInterests', interests, request);
  }

  publish(interests: readonly string[], request: PublishRequest): Promise<unknown> {
    return this.call('publish', interests, request);
  }

  publishToUsers(users: readonly string[], request: PublishRequest): Promise<unknown> {
    return this.call('publishToUsers', users, request);
  }

  deleteUser(userId: string): Promise<unknown> {
    return this.call('deleteUser', userId);
  }

  async generateToken(userId: string): Promise<string> {
    const { token } = (await this.call('generateToken', userId)) as { token: string };
    return token;
  }

  [Symbol.dispose](): void {
    this.process[Symbol.dispose]();
  }

  private async call(method: string, ...args: unknown[]): Promise<unknown> {
    this.process.send({ setup: this.setup, method, args });
    const { value, error, warnings } = await this.process.printed.next();
    this.warnings = warnings;
    if (error !== undefined) throw new Error(error);
    return value;
  }
}
