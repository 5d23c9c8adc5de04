import { Recent } from '../../runtime/recent.ts';

/** Apple's two services. A token is valid at one of them, depending on how the app was built. */
export type ApnsEnvironment = 'production' | 'sandbox';

export const environmentOrigins: Readonly<Record<ApnsEnvironment, string>> = {
  production: 'https://api.push.apple.com',
  sandbox: 'https://api.sandbox.push.apple.com',
};

export function otherEnvironment(environment: ApnsEnvironment): ApnsEnvironment {
  return environment === 'production' ? 'sandbox' : 'production';
}

/** Only tokens of developers and testers, whose apps are not from the store, are remembered. */
const TOKENS_MAX = 10_000;

/** Remembers which service knows a token. The oldest entries are evicted: both services are then tried again. */
export class RecentEnvironments extends Recent<string, ApnsEnvironment> {
  constructor() {
    super(TOKENS_MAX);
  }
}
