import { join } from 'node:path';
import type PushNotifications from '@pusher/push-notifications-server';
import { INSTANCE } from '../../testing/servers/push-server.ts';
import { JsonProcess } from './json-process.ts';

type PublishRequest = PushNotifications.PublishRequest;

/** What came of one call: it gave a value, which may be nothing, or failed with an error of this message. */
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
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * The official server library of Beams, unchanged, in another process: in Node, where most run it, or in Bun. A
 * call fails as the library does. Where the library brings its process down, every later call fails.
 */
export class PushLibraryProcess implements Disposable {
  /** What the last call warned of. */
  warnings: readonly string[] = [];
  private readonly process: JsonProcess<Outcome>;

  constructor(
    command: string,
    server: { readonly pushPort: number },
    { protocol, environment, ...over }: PushLibrarySetup = {},
  ) {
    const options = {
      instanceId: INSTANCE.id,
      secretKey: INSTANCE.secretKey,
      endpoint: '127.0.0.1',
      port: server.pushPort,
      ...over,
    };
    const script = join(import.meta.dir, 'push-library-process.mjs');
    this.process = new JsonProcess(command, script, { options, protocol }, environment);
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
    this.process.says({ method, args });
    const { value, error, warnings } = await this.process.printed.next();
    this.warnings = warnings;
    if (error !== undefined) throw new Error(error);
    return value;
  }
}
