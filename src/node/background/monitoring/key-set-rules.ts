import { type ConditionRule, duration, type Found, type Situation } from './rule.ts';

/** Rules about key sets of issuers of tokens. */
export const keySetRules: readonly ConditionRule[] = [{ id: 'key-set', check: unusableKeySets }];

function unusableKeySets({ keySets, nowMs }: Situation): readonly Found[] {
  return keySets.flatMap(({ appId, url, failure, keys, ignored, untilMs }): readonly Found[] => {
    const found = { key: appId, app: appId };
    if (failure !== undefined) {
      const text = `The key set of app ${appId} at ${url} cannot be fetched: ${failure.why}.`;
      const advice =
        'Compare `grants.jwksUrl` with what the issuer documents, and ask it whether it is down.';
      return [
        untilMs === undefined
          ? {
              ...found,
              level: 'bad',
              sinceMs: failure.sinceMs,
              text: `${text} Clients with its tokens are closed with 4100.`,
              advice,
            }
          : {
              ...found,
              level: 'warn',
              sinceMs: failure.sinceMs,
              text: `${text} Its last keys are used for ${duration(untilMs - nowMs)} more.`,
              advice,
            },
      ];
    }
    if (keys === undefined || keys.length > 0) return [];
    const why = ignored.length === 0 ? '' : ` What it has is ignored: ${ignored.join('; ')}.`;
    return [
      {
        ...found,
        level: 'bad',
        text: `The key set of app ${appId} at ${url} has no key that can be used.${why}`,
        advice: 'Let the issuer sign with RS256, ES256 or EdDSA, and publish the public key.',
      },
    ];
  });
}
