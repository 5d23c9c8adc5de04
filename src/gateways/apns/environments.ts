/** Apple's two services. A token is known to one of them: which one depends on how the app was built. */
export type Environment = 'production' | 'sandbox';

export const environmentOrigins: Readonly<Record<Environment, string>> = {
  production: 'https://api.push.apple.com',
  sandbox: 'https://api.sandbox.push.apple.com',
};

export function otherEnvironment(environment: Environment): Environment {
  return environment === 'production' ? 'sandbox' : 'production';
}

/** Remembers which service knows a token. It may forget: it is then found out again. */
export interface EnvironmentMemory {
  get(token: string): Environment | undefined;
  set(token: string, environment: Environment): void;
}

/** Tokens of apps that were not installed from the store are few: those of developers and testers. */
const TOKENS_MAX = 10_000;

/** Remembers in memory; the oldest are forgotten first. */
export class RecentEnvironments implements EnvironmentMemory {
  private readonly environments = new Map<string, Environment>();
  private readonly tokensMax: number;

  constructor(tokensMax = TOKENS_MAX) {
    this.tokensMax = tokensMax;
  }

  get(token: string): Environment | undefined {
    return this.environments.get(token);
  }

  set(token: string, environment: Environment): void {
    this.environments.delete(token);
    this.environments.set(token, environment);
    if (this.environments.size <= this.tokensMax) return;
    const [oldest] = this.environments.keys();
    if (oldest !== undefined) this.environments.delete(oldest);
  }
}
