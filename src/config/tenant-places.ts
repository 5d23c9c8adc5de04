import type { Config } from './schema.ts';

/** Where the configuration defines apps and instances, by their ids: a file, or variables of the environment. */
export interface TenantPlaces {
  readonly app: ReadonlyMap<string, string>;
  readonly instance: ReadonlyMap<string, string>;
}

export interface TenantSources {
  /** The file, if there is one. */
  readonly source: string | undefined;
  /** The variable that set a setting, by the path of the setting. */
  readonly variables: ReadonlyMap<string, string>;
}

/** Finds where each app and instance of a configuration is defined. */
export function tenantPlaces(
  { channels, push }: Config,
  { source, variables }: TenantSources,
): TenantPlaces {
  const file = source ?? 'the configuration';
  const apps = (channels.apps ?? []).map(({ id }, index) => {
    const variable = variables.get(`channels.apps[${index}].keys[0].secret`);
    return [id, variable === undefined ? file : `the environment (${variable})`] as const;
  });
  const instances = (push.instances ?? []).map(({ id }) => [id, file] as const);
  return { app: new Map(apps), instance: new Map(instances) };
}
