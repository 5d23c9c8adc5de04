/** Apple's two services. A token is valid at one of them, depending on how the app was built. */
export type Environment = 'production' | 'sandbox';

export const environmentOrigins: Readonly<Record<Environment, string>> = {
  production: 'https://api.push.apple.com',
  sandbox: 'https://api.sandbox.push.apple.com',
};

export function otherEnvironment(environment: Environment): Environment {
  return environment === 'production' ? 'sandbox' : 'production';
}

/** Only tokens of developers and testers, whose apps are not from the store, are remembered. */
const TOKENS_MAX = 10_000;

/** Remembers which service knows a token. The oldest entries are evicted: both services are then tried again. */
export class RecentEnvironments {
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
