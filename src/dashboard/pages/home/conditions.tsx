import type { Answer } from '../../api/client.ts';
import { counted, duration, moment } from '../../parts/formats.ts';
import { Notice } from '../../parts/notices.tsx';
import { Words } from '../../parts/words.tsx';
import { inApp, inInstance, pathTo } from '../../routing/router.ts';

type Conditions = Answer<'GET /conditions'>;

/** Whether all is well, in one sentence. */
export function conditionsSentence(answer: Conditions | undefined): string {
  if (answer === undefined) return 'Home';
  const { conditions } = answer;
  const bad = conditions.filter(({ level }) => level === 'bad').length;
  if (conditions.length === 0) return 'All is well';
  if (bad === 0) return `${counted(conditions.length, 'thing')} to look at`;
  return `${counted(bad, 'thing')} ${bad === 1 ? 'needs' : 'need'} you now`;
}

/** What is wrong, the worst first, each with advice. */
export function ConditionList({ conditions, servers }: Pick<Conditions, 'conditions' | 'servers'>) {
  if (conditions.length === 0) return null;
  const sorted = conditions.toSorted(
    (a, b) => Number(b.level === 'bad') - Number(a.level === 'bad'),
  );
  return (
    <ul class="stack tight" aria-label="What needs you">
      {sorted.map(({ id, level, text, advice, sinceMs, servers: found, ...about }) => (
        <li key={`${id} ${text} ${found.join(' ')}`}>
          <Notice level={level} actions={<WhereToLook {...about} />}>
            <p>
              <strong>{text}</strong>{' '}
              <span class="muted" title={new Date(sinceMs).toISOString()}>
                since {moment(sinceMs)}, {duration(Date.now() - sinceMs)}
                {servers.length > 1 && `, on ${found.join(', ')}`}
              </span>
            </p>
            <p class="advice">
              <Words text={advice} />
            </p>
          </Notice>
        </li>
      ))}
    </ul>
  );
}

function WhereToLook({
  app,
  instance,
  webhookUrl,
}: Pick<Conditions['conditions'][number], 'app' | 'instance' | 'webhookUrl'>) {
  if (app !== undefined) {
    const query = webhookUrl === undefined ? {} : { kinds: 'webhook' };
    return (
      <a class="button slim" href={pathTo(inApp(app, 'live'), query)}>
        Look at it live
      </a>
    );
  }
  if (instance === undefined || webhookUrl !== undefined) return null;
  return (
    <a class="button slim" href={pathTo(inInstance(instance, 'credentials'))}>
      Check the credential
    </a>
  );
}
