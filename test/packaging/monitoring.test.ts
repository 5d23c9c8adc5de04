import { describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { type MetricRow, metricRows } from '../../src/observability/metrics-table.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly description?: string;
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const root = join(import.meta.dir, '../..');
const alertsFile = join(root, 'docs/monitoring/alerts.yml');
const alerts = Bun.YAML.parse(await Bun.file(alertsFile).text()) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = alerts.groups.flatMap((group) => group.rules);
const dashboard = (await Bun.file(join(root, 'docs/monitoring/grafana.json')).json()) as {
  readonly panels: readonly Panel[];
};
const shown = dashboard.panels.filter(({ type }) => type !== 'row');

const rows: readonly MetricRow[] = Object.values(metricRows);

/** Every series name that a metric has. */
const seriesOf = ({ name, kind }: MetricRow) =>
  kind === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name];
const allSeries = rows.flatMap(seriesOf);
const seriesIn = (expr: string): readonly string[] => expr.match(/fanfare_\w+/g) ?? [];

/** An alert, a series that makes it fire, and the same one when all is well: first value, and step each minute. */
const faults: readonly (readonly [alert: string, series: string, bad: string, good: string])[] = [
  ['FanfareDown', 'up{job="fanfare"}', '0+0', '1+0'],
  ['FanfareEngineAway', 'fanfare_engine_up{loop="realtime"}', '0+0', '1+0'],
  ['FanfareUnreadableMessages', 'fanfare_unreadable_messages_total', '0+1', '0+0'],
  ['FanfareEngineUnsteady', 'fanfare_engine_outages_total', '0+1', '0+0'],
  ['FanfareEngineSlow', 'fanfare_engine_answer_seconds_bucket{le="0.1"}', '0+0', '0+60'],
  ['FanfarePublishesRefused', 'fanfare_engine_publishes_refused_total', '0+1', '0+0'],
  ['FanfareMessagesMissed', 'fanfare_engine_gaps_total', '0+1', '0+0'],
  ['FanfareEventsLost', 'fanfare_engine_losses_total', '0+1', '0+0'],
  ['FanfareServerFenced', 'fanfare_engine_leases_lost_total', '0+1', '0+0'],
  ['FanfareRedisDataLost', 'fanfare_engine_data_lost_total', '0+1', '0+0'],
  ['FanfareLoopDelayed', 'fanfare_event_loop_delay_seconds{loop="realtime"}', '0.3+0', '0.1+0'],
  ['FanfareSlowClients', 'fanfare_slow_connections_closed_total', '0+20', '0+5'],
  ['FanfareConnectionsRefused', 'fanfare_connections_refused_total{code="4100"}', '0+20', '0+5'],
  ['FanfareWebhooksLate', 'fanfare_outbox_oldest_age_seconds', '90+0', '30+0'],
  [
    'FanfareWebhookEventsDropped',
    'fanfare_webhook_events_dropped_total{full="loop"}',
    '0+1',
    '0+0',
  ],
  ['FanfarePushLate', 'fanfare_push_lag_seconds', '90+0', '30+0'],
  ['FanfarePushPaused', 'fanfare_push_pauses', '1+0', '0+0'],
  ['FanfareSourceAway', 'fanfare_source_up{source="0"}', '0+0', '1+0'],
  ['FanfareSourceLate', 'fanfare_source_lag_seconds{source="0"}', '90+0', '3+0'],
  ['FanfareSourceRowsFailed', 'fanfare_source_rows_total{result="failed"}', '0+1', '0+0'],
  ['FanfareLogLinesDropped', 'fanfare_log_lines_dropped_total{loop="realtime"}', '0+1', '0+0'],
  [
    'FanfareWrongPasswords',
    'fanfare_admin_requests_refused_total{why="password-wrong"}',
    '0+2',
    '0+0',
  ],
  ['FanfareCertificateEnds', 'fanfare_certificate_end_time_seconds', '0+0', '2000000+0'],
  ['FanfareQuotaLow', 'fanfare_quota_warnings_total{left="5%"}', '0+1', '0+0'],
];

/** Runs promtool. Returns what it complains about; empty: nothing. */
function promtool(...argv: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(['promtool', ...argv]);
  return exitCode === 0 ? stderr.toString() : `${stdout}${stderr}`;
}

describe('an alert', () => {
  it.each(rules)('is about metrics that there are: $alert', ({ alert, expr, annotations }) => {
    const names = seriesIn(expr);
    if (alert !== 'FanfareDown') expect(names).not.toBeEmpty();
    expect(allSeries).toEqual(expect.arrayContaining([...names]));
    // A counter says nothing by itself, since it begins at 0 with every start.
    for (const { name, kind } of rows) {
      if (kind === 'counter' && names.includes(name))
        expect(expr).toMatch(new RegExp(`increase\\(${name}[{[]`));
    }
    const row = rows.find((one) => seriesOf(one).includes(names[0] ?? ''));
    for (const [, label] of annotations.summary.matchAll(/\$labels\.(\w+)/g)) {
      expect(['instance', row?.label?.name]).toContain(label);
    }
  });

  it('has a name of its own, a severity and advice, and a line in docs/operate/operate.md', async () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    const page = await Bun.file(join(root, 'docs/operate/operate.md')).text();
    const documented = [...page.matchAll(/^\| `(Fanfare\w+)` \|/gm)].map(([, name]) => name);
    expect(documented).toEqual(rules.map(({ alert }) => alert));
    for (const { labels, annotations } of rules) {
      expect(['critical', 'warning', 'info']).toContain(labels.severity);
      expect(annotations.description).toMatch(/[.?]$/);
    }
  });

  it('fires in Prometheus when something is wrong, and not before', async () => {
    expect(promtool('check', 'rules', alertsFile)).toBe('');
    expect(faults.map(([alert]) => alert)).toEqual(rules.map(({ alert }) => alert));
    const firing = (alert: string, isFiring: boolean) => ({
      expr: `count(ALERTS{alertname="${alert}", alertstate="firing"})`,
      eval_time: '30m',
      exp_samples: isFiring ? [{ labels: '{}', value: 1 }] : [],
    });
    // Of the other buckets, beside the one of 100 ms.
    const slower = ['2.5', '+Inf'].map((le) => ({
      series: `fanfare_engine_answer_seconds_bucket{le="${le}"}`,
      values: '0+60x40',
    }));
    const tests = faults.flatMap(([alert, series, bad, good]) =>
      [bad, good].map((values) => ({
        interval: '1m',
        input_series: [
          { series, values: `${values}x40` },
          ...(alert === 'FanfareEngineSlow' ? slower : []),
        ],
        promql_expr_test: [firing(alert, values === bad)],
      })),
    );
    using directory = temporaryDirectory();
    const file = join(directory.path, 'test.yml');
    // JSON is YAML.
    await Bun.write(file, JSON.stringify({ rule_files: [alertsFile], tests }));
    expect(promtool('test', 'rules', file)).toBe('');
  });
});

describe('the dashboard of Grafana', () => {
  it('shows every metric, and none that there is not', () => {
    const used = new Set(
      shown.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => seriesIn(expr))),
    );
    expect(allSeries).toEqual(expect.arrayContaining([...used]));
    const missing = rows.filter((row) => !seriesOf(row).some((name) => used.has(name)));
    // Of these the figures beside them say enough, or the alerts do.
    expect(missing.map(({ name }) => name)).toEqual([
      'fanfare_fallback_connections_opened_total',
      'fanfare_fallback_unknown_sessions_total',
      'fanfare_statistics_reports_total',
      'fanfare_unread_answer_bytes',
      'fanfare_answers_broken_off_total',
      'fanfare_watchers',
      'fanfare_stream_events_skipped_total',
      'fanfare_quota_warnings_total',
      'fanfare_name_lookups',
      'fanfare_name_lookups_refused_total',
      'fanfare_outbox_bytes',
      'fanfare_store_changes_refused_total',
      'fanfare_engine_away_seconds',
      'fanfare_engine_waiting_commands',
      'fanfare_engine_waits_given_up_total',
      'fanfare_engine_connections_lost_total',
      'fanfare_engine_probes_unanswered_total',
      'fanfare_engine_followed_again_total',
      'fanfare_unreadable_messages_total',
      'fanfare_engine_leases_swept_total',
      'fanfare_start_time_seconds',
    ]);
  });

  it('has only queries that Prometheus can answer', async () => {
    const queries = shown.flatMap(({ targets = [] }, panel) =>
      targets.map(({ expr }, at) => ({
        record: `panel:${panel}:${at}`,
        expr: expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(job|instance)/g, '.*'),
      })),
    );
    using directory = temporaryDirectory();
    const file = join(directory.path, 'rules.yml');
    await Bun.write(file, JSON.stringify({ groups: [{ name: 'panels', rules: queries }] }));
    expect(promtool('check', 'rules', file)).toBe('');
  });

  it('explains each panel, and lays no panel over another', () => {
    for (const { description, targets = [] } of shown) {
      expect(description).toMatch(/\.$/);
      for (const { legendFormat } of targets) expect(legendFormat).not.toBe('');
    }
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, n) => `${x + (n % w)},${y + Math.floor(n / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });
});
