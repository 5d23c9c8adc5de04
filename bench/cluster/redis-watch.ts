import { RedisClient } from 'bun';

/** Reads the figures of a Redis server. */
export class RedisWatch implements Disposable {
  private readonly client: RedisClient;

  constructor(url: string) {
    this.client = new RedisClient(url);
  }

  /** Processor time of all its threads. Seconds. */
  async cpuSeconds(): Promise<number> {
    return (await this.info('used_cpu_user')) + (await this.info('used_cpu_sys'));
  }

  /** The memory of its data and buffers. */
  async memoryBytes(): Promise<number> {
    return await this.info('used_memory');
  }

  /** How many channels nodes hold, of all apps. */
  async occupied(): Promise<number> {
    const keys: readonly string[] = await this.client.send('KEYS', ['*}C:*']);
    let sum = 0;
    for (const key of keys) sum += Number(await this.client.send('ZCARD', [key]));
    return sum;
  }

  /** Forgets which scripts took long. */
  async forgetSlow(): Promise<void> {
    await this.client.send('CONFIG', ['SET', 'slowlog-log-slower-than', '200']);
    await this.client.send('CONFIG', ['SET', 'slowlog-max-len', '10000']);
    await this.client.send('SLOWLOG', ['RESET']);
  }

  /** The longest time that one command has taken since then. Milliseconds. */
  async slowestMs(): Promise<number> {
    const entries: readonly (readonly unknown[])[] = await this.client.send('SLOWLOG', [
      'GET',
      '-1',
    ]);
    return Math.max(0, ...entries.map((entry) => Number(entry[2]) / 1000));
  }

  [Symbol.dispose](): void {
    this.client.close();
  }

  private async info(field: string): Promise<number> {
    const text = String(await this.client.send('INFO', []));
    const found = new RegExp(`^${field}:([\\d.]+)`, 'm').exec(text)?.[1];
    if (found === undefined) throw new Error(`INFO of Redis has no ${field}`);
    return Number(found);
  }
}
