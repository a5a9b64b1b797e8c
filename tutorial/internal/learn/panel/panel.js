// The panel beside a chapter: what the learner's cluster and operator do, and buttons for what can be done about it.
//
// It shows the state that the server sends. Only what differs in the page is changed, for a few milliseconds per frame, so
// the page never blocks, and the focus stays. What the server sends becomes text: all markup is here.
'use strict';

(() => {
const panel = document.getElementById('learn');
if (!panel) return;
const chapter = panel.dataset.chapter || '';

const icon = (shape, name = shape) => `<i class="${name} icon" data-shape="${shape}" aria-hidden=true></i>`;
const templates = new Map();

// build makes an element of this file's markup. Its parts are those in it, by first class.
const build = (html) => {
  if (!templates.has(html)) {
    const template = document.createElement('template');
    template.innerHTML = html;
    templates.set(html, template);
  }
  const element = templates.get(html).content.firstElementChild.cloneNode(true);
  element.parts = {};
  for (const part of element.querySelectorAll('[class]')) element.parts[part.classList[0]] = part;
  return element;
};

const text = (element, value) => {
  if (element.textContent === value) return false;
  element.textContent = value;
  return true;
};

const set = (element, name, value) => {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
};

const show = (element, shown) => {
  if (element.hidden === shown) element.hidden = !shown;
};

const tone = (element, good, bad) => {
  element.classList.toggle('good', good);
  element.classList.toggle('bad', bad);
};

// fill sets the texts of parts, and hides those without. Some light up when changed.
const fill = (parts, texts, fresh) => {
  for (const [name, value] of Object.entries(texts)) {
    const part = parts[name];
    const changed = text(part, String(value ?? ''));
    show(part, part.textContent !== '');
    if (changed && !fresh && part.classList.contains('flash')) part.classList.add('changed');
  }
};

// patch makes a list's children those of the items, and yields after each. A child whose key is still there stays, and is moved
// only if it has to be, so it keeps the focus.
const patch = function* (list, items, keyOf, html, update) {
  const children = (list.byKey ||= new Map());
  const times = new Map();
  const keys = items.map((item) => {
    const key = keyOf(item);
    times.set(key, (times.get(key) || 0) + 1);
    return `${key} #${times.get(key)}`;
  });
  const wanted = new Set(keys);
  for (const [key, child] of children) {
    if (wanted.has(key)) continue;
    child.remove();
    children.delete(key);
    yield;
  }
  let next = list.firstElementChild;
  for (const [i, item] of items.entries()) {
    let child = children.get(keys[i]);
    const fresh = !child;
    if (fresh) children.set(keys[i], child = build(html));
    const more = update(child.parts, item, fresh, child);
    if (child === next) next = child.nextElementSibling;
    else list.insertBefore(child, next);
    if (more) yield* more;
    yield;
  }
};

const ago = (time) => {
  const seconds = Math.max(0, Math.round((Date.now() - time) / 1000));
  const [unit, size] = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]].find(([, size]) => seconds >= size) || ['s', 1];
  return `${Math.floor(seconds / size)} ${unit} ago`;
};

const setTime = (element, at) => {
  show(element, Boolean(at));
  if (!at || element.dateTime === at) return;
  element.dateTime = at;
  element.title = new Date(at).toLocaleString();
  text(element, ago(Date.parse(at)));
};

// The frame

const button = (name, label, more = '') => `<span class="${name} button"><button data-action="${name}" ${more}>${label}</button></span>`;
const status = (title, key, buttons) => `<div class=status><b>${title}</b><span class=value>${icon('none', `${key}Icon`)}
  <span class="${key}State flash"></span> <span class="${key}Note faint"></span></span><span class=buttons>${buttons}</span>
  <p class="${key}Message message"></p></div>`;
const folded = (key, open, title, none, inside) => `<details data-key="${key}" ${open}><summary>${icon('twist')}${title}
  <span class="${key}Count count"></span></summary><p class="${key}None empty">${none}</p>${inside}</details>`;

const frame = build(`<div>
<header><h2 id=learn-title>Your cluster</h2><span class=live role=status></span>
  <button class="close plain" title="Hide this panel">${icon('close', '')}</button></header>
<div class=body>
  <p class="lost note warn"></p>
  <p class="elsewhere note">This panel is about <a class=link></a>, and you are reading another chapter.</p>
  ${status('Cluster', 'cluster', button('start', 'Start the cluster') + button('stop', 'Stop', 'aria-label="Stop the cluster"'))}
  ${status('Operator', 'operator', button('run', 'Run the operator') + button('halt', 'Stop', 'aria-label="Stop the operator"'))}
  <ul class="statusWhy why" data-of="start stop run halt"></ul>
  <div class="task note">${icon('running', 'taskIcon')}<div><strong class=doing></strong><p class=line></p></div>${button('cancel', 'Cancel')}</div>
  <p class="refusal note bad"></p>
  <p class="error note bad"></p>
  <section><h3 id=learn-objects>Objects</h3>
  <p class="noObjects empty"></p>
  <ul class=tree role=tree aria-labelledby=learn-objects></ul>
  <div class=selected><h4 class=selectedName></h4><p class="noConditions empty"></p><ul class=conditions></ul></div></section>
  <section><h3>Your exercise</h3>
  <p class="copy faint"></p>
  <div class=buttons>${button('check', 'Check')}${button('hint', 'Hint')}${button('reset', 'Reset')}</div>
  <ul class="checkWhy why" data-of="check hint reset"></ul>
  <div class="hintNote note"><strong>Hint</strong><p class=hintText></p></div>
  <div class=scoreRow><progress class=bar aria-label=Passed></progress><span class=score></span></div>
  <ul class=features></ul></section>
  <section class=faults><h3>Break it on purpose</h3>
  <div class=buttons><select class=lab aria-label="What to break"></select>${button('break', 'Break it')}${button('heal', 'Heal')}</div>
  <ul class="faultWhy why" data-of="break heal"></ul></section>
  ${folded('writes', 'open', 'What your operator just asked for', 'It has not asked for a change yet.', '<ul class="writes rows" tabindex=0></ul>')}
  ${folded('events', 'open', 'Events', 'There are no events yet.', '<ul class="events rows" tabindex=0></ul>')}
  ${folded('log', '', 'The operator’s log', 'No operator has run yet.', '<pre class=log tabindex=0 aria-label="The operator’s log"></pre>')}
  <section class=progress><h3>Your progress</h3><ol class="chapters map"></ol><p class="chapterLine faint"></p>
  <ul class="labs map"></ul><p class="labLine faint"></p></section>
</div>
<p class="spoken unseen" role=status aria-live=polite></p></div>`);
const page = frame.parts;
const opener = build(`<button class=learn-opener aria-controls=learn>${icon('none', 'state')}Your cluster</button>`);
const dialog = build(`<dialog class=learn-dialog aria-labelledby=learn-question aria-describedby=learn-answer><h2 id=learn-question class=question></h2>
  <p id=learn-answer class=explanation></p><div class=buttons><button class=no>Leave it as it is</button>
  <button class="yes danger"></button></div></dialog>`);
const buttons = Object.fromEntries([...frame.querySelectorAll('[data-action]')].map((each) => [each.dataset.action, each]));
for (const [name, each] of Object.entries(buttons)) {
  const why = build('<span class=unseen></span>');
  why.id = `learn-why-${name}`;
  each.setAttribute('aria-describedby', why.id);
  each.after(why);
  each.onclick = () => press(name);
}

// Open and closed

const remember = (key, value) => {
  try {
    if (value) localStorage.setItem(`learn-${key}`, value);
    return localStorage.getItem(`learn-${key}`);
  } catch {
    return value; // Nothing is kept here.
  }
};

const wide = matchMedia('(min-width: 80rem)');
const width = () => (wide.matches ? 'wide' : 'narrow');

const setOpen = (open, byHand) => {
  show(panel, open);
  show(opener, !open);
  set(opener, 'aria-expanded', String(open));
  document.documentElement.classList.toggle('learn-beside', open && wide.matches);
  if (!byHand) return;
  remember(width(), open ? 'open' : 'closed');
  (open ? page.close : opener).focus();
};

// Beside the text it is open, above it closed, until somebody decides.
const fit = () => setOpen((remember(width()) || (wide.matches ? 'open' : 'closed')) === 'open');

for (const each of frame.querySelectorAll('details')) {
  const kept = remember(each.dataset.key);
  if (kept) each.open = kept === 'open';
  each.ontoggle = () => remember(each.dataset.key, each.open ? 'open' : 'closed');
}

// What is known

const known = {
  live: false, // whether the state is of now
  lost: false, // whether the server can't be reached
  refused: false, // whether it does not know this browser
  received: 0, // when the state came
  state: null,
  busy: new Set(), // actions without an answer yet
  refusal: '', // the answer to the last one that was refused
  selected: '', // the id of the object whose conditions are shown
  folded: new Set(), // the ids of those whose children are not
};

// complete adds what may be left out.
const complete = (state) => ({
  chapter: '', dir: '', cluster: {}, operator: {}, ...state, task: { passed: 0, of: 0, ...state.task, features: state.task?.features || [] },
  ...Object.fromEntries('objects events writes actions progress labs'.split(' ').map((name) => [name, state[name] || []])),
});

// Actions

const say = (words) => text(page.spoken, words);

// why returns what is in an action's way, or nothing.
const why = (name) => {
  if (!known.live) return 'this page is not connected to make learn';
  if (known.busy.has(name)) return 'you have just asked for it';
  const { enabled, why: missing, chapter: its } = known.state.actions.find((each) => each.name === name) || {};
  if (chapter && its && its !== chapter) return `your copy is of ${its}`;
  return enabled ? '' : missing || 'there is nothing to do now';
};

const press = async (name) => {
  const reason = why(name);
  if (reason) return say(`${buttons[name].textContent}: ${reason}`);
  const fields = new URLSearchParams(chapter && { chapter });
  if (name === 'break') fields.set('lab', page.lab.value);
  if (name === 'reset' || name === 'break') {
    if (!(await confirmed(name))) return;
    fields.set('confirm', 'yes');
  }
  known.busy.add(name);
  known.refusal = '';
  change();
  try {
    const answer = await fetch(`/-/do/${name}`, { method: 'POST', body: fields });
    if (!answer.ok) known.refusal = (await answer.text()).trim() || `make learn answers with ${answer.status}`;
  } catch {
    known.refusal = 'make learn does not answer: look at its terminal';
  }
  known.busy.delete(name);
  if (known.refusal) say(known.refusal);
  change();
};

for (const answer of ['yes', 'no']) dialog.parts[answer].onclick = () => dialog.close(answer);

// confirmed asks before something is replaced, with the focus on the answer that changes nothing.
const confirmed = (name) => {
  const { title, chapter: faulty } = known.state.labs.find((lab) => lab.name === page.lab.value) || {};
  const [question, explanation, yes] = name === 'reset' ?
    ['Start over?', `${known.state.dir || 'Your copy'} becomes what the chapter starts with. Your version is kept next to it.`, 'Start over'] :
    ['Break it?', `${title} ${faulty ? 'You get a copy of an operator with this fault, and yours stays. ' : ''}“Heal” undoes it.`, 'Break it'];
  fill(dialog.parts, { question, explanation, yes });
  dialog.returnValue = '';
  dialog.showModal();
  dialog.parts.no.focus();
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === 'yes');
  });
};

// The connection, the cluster, the operator, and what is being done

const words = { absent: 'not running', stopped: 'not running', building: 'being built' };

const drawConnection = () => {
  const { live, lost, refused, state } = known;
  const problem = refused ? 'This is not a page of the make learn that is running: open the address that it printed.' :
    'The connection to make learn is lost. Does it still run in its terminal?';
  const from = state ? ` What you see is from ${new Date(known.received).toLocaleTimeString()}.` : '';
  fill(page, { live: live ? 'Live' : lost ? 'Not live' : 'Connecting', lost: lost ? problem + from : '' });
  page.live.classList.toggle('on', live);
  panel.classList.toggle('stale', !live);
};

const drawStatus = ({ cluster, operator, dir }) => {
  const absent = cluster.state === 'absent';
  const source = { chapter: 'the chapter’s', copy: `your copy${dir && `, ${dir}`}`, finished: 'the finished one' }[operator.source];
  set(page.clusterIcon, 'data-shape', `on-${cluster.state}`);
  set(page.operatorIcon, 'data-shape', `on-${operator.state}`);
  fill(page, {
    clusterState: words[cluster.state] || cluster.state || 'not known yet',
    clusterNote: absent ? '' : cluster.kind,
    clusterMessage: cluster.message || (absent ? '“Start the cluster” brings it up. The first time takes minutes.' : ''),
    operatorState: words[operator.state] || operator.state || 'not known yet',
    operatorNote: operator.state === 'stopped' ? '' : source,
    operatorMessage: operator.message,
  });
  set(opener.parts.state, 'data-shape', known.live ? `on-${cluster.state}` : 'bad');
};

const drawButtons = function* ({ cluster, operator, task }) {
  const up = ['running', 'starting'].includes(cluster.state);
  const on = ['running', 'building'].includes(operator.state);
  const hidden = { start: up, stop: !up, run: on, halt: !on, cancel: !task.running };
  const first = cluster.state === 'absent' ? 'start' : on ? 'check' : 'run';
  for (const [name, each] of Object.entries(buttons)) {
    const reason = why(name);
    show(each.parentElement, !hidden[name]);
    // One that can't be used can still be reached, so that its reason is read.
    set(each, 'aria-disabled', reason ? 'true' : null);
    text(each.nextElementSibling, reason);
    each.classList.toggle('primary', name === first && !reason);
  }
  for (const list of [page.statusWhy, page.checkWhy, page.faultWhy]) {
    const reasons = new Map(); // each once, with the buttons that it is about
    for (const name of list.dataset.of.split(' ')) {
      const reason = known.live && !hidden[name] && !known.busy.has(name) && why(name);
      if (reason) reasons.set(reason, [...(reasons.get(reason) || []), buttons[name].textContent]);
    }
    yield* patch(list, [...reasons], String, '<li></li>', (parts, [reason, names], fresh, li) => {
      text(li, `${names.join(', ')}: ${reason}`);
    });
  }
};

const drawTop = function* (state) {
  const { task, labs } = state;
  drawConnection();
  drawStatus(state);
  show(page.elsewhere, Boolean(chapter && state.chapter) && chapter !== state.chapter);
  text(page.link, state.chapter);
  set(page.link, 'href', `/tutorial/${encodeURIComponent(state.chapter)}/`);
  show(page.task, Boolean(task.running || (task.line && !task.error && task.action !== 'check')));
  set(page.taskIcon, 'data-shape', task.running ? 'running' : 'good');
  fill(page, { doing: buttons[task.action]?.textContent, line: task.line, error: task.running ? '' : task.error, refusal: known.refusal });
  yield* drawButtons(state);
  const here = labs.filter((lab) => !lab.chapter || lab.chapter === chapter);
  show(page.faults, here.length > 0);
  yield* patch(page.lab, here, ({ name }) => name, '<option></option>', (parts, lab, fresh, option) => {
    option.value = lab.name;
    text(option, lab.title || lab.name);
  });
};

// The tree of objects, and the conditions of one

const treeItem = `<li role=treeitem tabindex=-1><div class=row>${icon('twist')}${icon('none', 'health')}<span class=kind></span>
  <span class=full><span class=prefix></span><span class=name></span></span><span class="state flash"></span></div><ul class=group role=group></ul></li>`;

const drawObject = (owner, parts, object, fresh, li) => {
  const name = object.name || '';
  const children = object.children || [];
  const below = object.more > 0 ? [...children, { id: `${object.id} more`, kind: `and ${object.more} more` }] : children;
  // The part of a name that says whose it is need not show.
  const shared = owner && name.startsWith(`${owner.name}-`) ? owner.name.length : 0;
  set(parts.health, 'data-shape', object.health);
  fill(parts, { kind: object.kind, prefix: name.slice(0, shared), name: name.slice(shared), state: object.state }, fresh);
  parts.full.title = name;
  parts.state.title = object.state || '';
  const health = { good: 'healthy', progressing: 'changing', bad: 'failing' }[object.health];
  li.dataset.id = object.id;
  set(li, 'aria-label', [`${object.kind} ${name}`.trim(), object.state, health].filter(Boolean).join(', '));
  set(li, 'aria-expanded', below.length ? String(!known.folded.has(object.id)) : null);
  set(li, 'aria-selected', String(object.id === known.selected));
  return below.length || parts.group.firstChild ? drawObjects(parts.group, below, object) : null;
};

const drawObjects = (list, objects, owner) => patch(list, objects, ({ id }) => id, treeItem, (...child) => drawObject(owner, ...child));

const withChildren = (objects) => objects.flatMap((object) => [object, ...withChildren(object.children || [])]);

const drawTree = function* ({ objects, cluster }) {
  const all = withChildren(objects);
  const selected = all.find(({ id }) => id === known.selected) || all.find(({ conditions }) => conditions?.length) || objects[0];
  known.selected = selected?.id || '';
  show(page.tree, objects.length > 0);
  const nothing = cluster.state === 'running' ? 'There is nothing yet. What you apply in your terminal shows up here.' : 'They show up here once a cluster is running.';
  fill(page, { noObjects: objects.length ? '' : nothing });
  yield* drawObjects(page.tree, objects);
  const first = page.tree.firstElementChild;
  if (first && !page.tree.querySelector('[tabindex="0"]')) first.tabIndex = 0;
  yield* drawConditions(selected);
};

const wanted = { Available: 'True', Ready: 'True', Degraded: 'False', ReplicaFailure: 'False' };

const drawConditions = function* (object) {
  const conditions = object?.conditions || [];
  show(page.selected, Boolean(object));
  fill(page, {
    selectedName: object ? `Conditions of ${object.kind} ${object.name}` : '',
    noConditions: conditions.length ? '' : `This ${object?.kind} has no conditions.`,
  }, true);
  yield* patch(page.conditions, conditions, (condition) => `${object.id} ${condition.type}`,
    `<li><div class=head><span class=type></span><span class="chip flash"></span><code class=reason></code><time class="since faint"></time></div>
    <p class=message></p></li>`,
    (parts, { type, status: chip, reason, message, since }, fresh) => {
      fill(parts, { type, chip, reason, message }, fresh);
      const judged = Object.hasOwn(wanted, type) && chip !== 'Unknown';
      tone(parts.chip, judged && wanted[type] === chip, judged && wanted[type] !== chip);
      setTime(parts.since, since);
    });
};

// The tree is one stop of the Tab key. The arrows move in it.

const visibleItems = () => [...page.tree.querySelectorAll('[role=treeitem]:not([aria-expanded=false] *)')];

const focusItem = (item) => {
  if (!item) return;
  for (const old of page.tree.querySelectorAll('[tabindex="0"]')) old.tabIndex = -1;
  item.tabIndex = 0;
  item.focus();
};

const expand = (item, open) => {
  set(item, 'aria-expanded', String(open));
  known.folded[open ? 'delete' : 'add'](item.dataset.id);
};

const select = (item) => {
  known.selected = item.dataset.id;
  change();
};

page.tree.onclick = ({ target }) => {
  const item = target.closest('[role=treeitem]');
  if (!item) return;
  if (target.closest('.twist') && item.ariaExpanded) expand(item, item.ariaExpanded === 'false');
  else select(item);
  focusItem(item);
};

page.tree.onkeydown = (event) => {
  const item = event.target.closest('[role=treeitem]');
  const items = visibleItems();
  const at = items.indexOf(item);
  const open = item?.ariaExpanded;
  const move = {
    ArrowDown: () => focusItem(items[at + 1]),
    ArrowUp: () => focusItem(items[at - 1]),
    Home: () => focusItem(items[0]),
    End: () => focusItem(items.at(-1)),
    ArrowRight: () => (open === 'false' ? expand(item, true) : open && focusItem(items[at + 1])),
    ArrowLeft: () => (open === 'true' ? expand(item, false) : focusItem(item.parentElement.closest('[role=treeitem]'))),
    Enter: () => select(item),
    ' ': () => select(item),
  }[event.key];
  if (!item || !move || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  move();
};

// keepFocus returns what gives the focus back to what has it now or, if that has left the tree, to what is in its place.
const keepFocus = () => {
  const had = document.activeElement;
  const at = page.tree.contains(had) ? visibleItems().indexOf(had) : -1;
  return () => {
    if (document.activeElement === had) return;
    if (had?.isConnected) had.focus({ preventScroll: true });
    else if (at >= 0) focusItem(visibleItems()[at] || visibleItems().at(-1));
  };
};

// The exercise, what has happened, and progress

const drawCheck = function* ({ task, dir }) {
  fill(page, { copy: dir ? `Your copy is ${dir}.` : 'You have no copy of an operator to work on yet.', score: `${task.passed} of ${task.of} passed`, hintText: task.hint });
  show(page.hintNote, Boolean(task.hint));
  show(page.scoreRow, task.of > 0 && task.features.length > 0);
  set(page.bar, 'max', String(task.of || 1));
  set(page.bar, 'value', String(task.passed));
  yield* patch(page.features, task.features, ({ name }) => name,
    `<li><div class=head>${icon('waiting', 'form')}<span class=title></span><span class="outcome flash"></span></div><dl class=more>
    <dt>Expected</dt><dd class=expected></dd><dt>Seen</dt><dd class=seen></dd><dt>Step</dt><dd class=step></dd><dt>Hint</dt><dd class=hint></dd></dl></li>`,
    (parts, { name, title, outcome, expected, seen, step, hint }, fresh, li) => {
      fill(parts, { title: title || name, outcome, expected, seen, step, hint }, fresh);
      set(parts.form, 'data-shape', outcome);
      set(li, 'data-outcome', outcome);
      show(parts.more, outcome === 'failed' && Boolean(expected || seen || step || hint));
    });
};

const row = `<li><div class=head><span class=chip></span><span class=object></span><span class="note faint"></span><time class="at faint"></time></div>
  <p class=message></p></li>`;

const drawRows = function* (key, rows, keyOf, textsOf) {
  fill(page, { [`${key}Count`]: rows.length || '' });
  show(page[`${key}None`], rows.length === 0);
  yield* patch(page[key], rows, keyOf, row, (parts, item, fresh, li) => {
    const { bad, ...texts } = textsOf(item);
    fill(parts, { message: '', ...texts }, fresh);
    tone(parts.chip, false, bad);
    setTime(parts.at, item.at);
    if (fresh) li.classList.add('changed');
  });
};

const drawHistory = function* ({ writes, events, operator }) {
  yield* drawRows('writes', writes, Object.values, ({ verb, object, subresource, code }) => ({
    chip: verb, object: object + (subresource ? `/${subresource}` : ''), note: code >= 400 ? `refused, ${code}` : code, bad: code >= 400,
  }));
  yield* drawRows('events', events, ({ type, reason, object, message }) => [type, reason, object, message], (event) => ({
    chip: event.reason, object: event.object, message: event.message, bad: event.type === 'Warning',
    note: [event.type === 'Warning' && 'warning', event.count > 1 && `${event.count} times`].filter(Boolean).join(', '),
  }));
  const { log } = page;
  const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
  fill(page, { log: (operator.log || []).join('\n') });
  show(page.logNone, log.hidden);
  if (atEnd) log.scrollTop = log.scrollHeight;
};

const drawProgress = function* ({ progress }) {
  for (const [kind, list, line] of [['chapter', page.chapters, page.chapterLine], ['lab', page.labs, page.labLine]]) {
    const all = progress.filter((each) => each.kind === kind);
    yield* patch(list, all, ({ name }) => name, '<li><a class=link></a></li>', ({ link }, { name, title, done, passed, of }) => {
      text(link, kind === 'lab' ? name : /^\d+/.exec(name)?.[0] || title);
      if (kind === 'chapter') set(link, 'href', `/tutorial/${encodeURIComponent(name)}/`);
      else set(link, 'role', 'img');
      const about = `${[name, title].filter(Boolean).join(', ')}: ${done ? 'done' : passed ? `${passed} of ${of}` : 'not done yet'}`;
      set(link, 'title', about);
      set(link, 'aria-label', about);
      set(link, 'data-done', done ? 'all' : passed ? 'part' : null);
      set(link, 'aria-current', name === chapter ? 'page' : null);
    });
    text(line, all.length ? `${all.filter((each) => each.done).length} of ${all.length} ${kind}s done` : '');
  }
  show(page.progress, progress.length > 0);
};

// announce reads changes out to screen readers.
const announce = (before, now) => {
  const { task, cluster, operator } = now;
  if (before.task.running && !task.running && (task.error || task.action === 'check')) {
    const failed = task.features.find((feature) => feature.outcome === 'failed');
    say(task.error || `${task.passed} of ${task.of} passed. ${failed ? `${failed.title || failed.name} failed. ${failed.hint}` : ''}`);
  }
  if (task.hint && task.hint !== before.task.hint) say(`Hint: ${task.hint}`);
  if (before.cluster.state !== cluster.state) say(`Cluster: ${words[cluster.state] || cluster.state}`);
  if (before.operator.state !== operator.state && operator.state === 'exited') say(`The operator exited. ${operator.message || ''}`);
};

const drawing = function* () {
  const state = known.state || complete({});
  for (const part of [drawTop, drawTree, drawCheck, drawHistory, drawProgress]) yield* part(state);
};

let changed = false;
let drawn = null; // a drawing that is not finished
let next = 0;

const draw = () => {
  next = 0;
  const until = performance.now() + 8; // milliseconds: half a frame
  const restoreFocus = keepFocus();
  if (!drawn) {
    changed = false;
    drawn = drawing();
  }
  let done = false;
  while (!done && performance.now() < until) done = drawn.next().done;
  restoreFocus();
  if (done) drawn = null;
  if (!done || changed) next ||= requestAnimationFrame(draw);
};

const change = () => {
  changed = true;
  next ||= requestAnimationFrame(draw);
};

// What is not live does not age.
setInterval(() => {
  if (document.hidden || !known.live) return;
  for (const time of panel.querySelectorAll('time:not([hidden])')) text(time, ago(Date.parse(time.dateTime)));
}, 1000);

// The stream. Browsers open six connections to a server, so only the tab that has the lock has the stream, and tells the others.

const channel = window.BroadcastChannel && navigator.locks ? new BroadcastChannel('learn') : null;
const [shortest, longest] = [500, 15000];
let pause = shortest;
let source = null;
let retry = 0;
let unanswered = 0;
let last = null; // what this tab told the others last
let leave = () => {}; // gives up the lock, or waiting for it

const hear = ({ live, data, at, refused = false }) => {
  clearTimeout(unanswered);
  if (!live && known.live) say('The connection to make learn is lost.');
  Object.assign(known, { live, lost: !live, refused });
  if (live) {
    const state = complete(JSON.parse(data));
    if (known.state) announce(known.state, state);
    Object.assign(known, { state, received: at });
  }
  change();
};

const tell = (message) => {
  last = message;
  channel?.postMessage(message);
  hear(message);
};

const open = () => {
  const opened = source = new EventSource('/-/stream');
  opened.onmessage = ({ data }) => {
    pause = shortest;
    tell({ live: true, data, at: Date.now() });
  };
  opened.onerror = async () => {
    opened.close();
    tell({ live: false, refused: known.refused });
    // A stream does not say why it failed. Another request does.
    const refused = await fetch('/-/panel.css', { method: 'HEAD', cache: 'no-store' }).then((answer) => answer.status === 401, () => false);
    if (source !== opened) return;
    tell({ live: false, refused });
    retry = setTimeout(open, pause);
    pause = Math.min(2 * pause, longest);
  };
};

// ask has the tab with the stream repeat what it knows. Without an answer, nothing is live.
const ask = () => {
  if (source || document.hidden) return;
  channel.postMessage({ ask: true });
  clearTimeout(unanswered);
  unanswered = setTimeout(() => source || hear({ live: false }), 3000);
};

const lead = () => {
  if (!channel) return open();
  const waiting = new AbortController();
  leave = () => waiting.abort();
  const granted = () => new Promise((resolve) => {
    leave = resolve;
    open();
  });
  navigator.locks.request('learn', { signal: waiting.signal }, granted).catch(() => {}); // The tab was left while it waited.
  ask();
};

if (channel) {
  channel.onmessage = ({ data }) => {
    if (!data.ask) hear(data);
    else if (source && last) channel.postMessage(last);
  };
  setInterval(ask, 10000);
  document.addEventListener('visibilitychange', ask);
}
addEventListener('pagehide', () => {
  clearTimeout(retry);
  source?.close();
  source = null;
  leave();
});
addEventListener('pageshow', ({ persisted }) => persisted && lead());

// At the end of the page, it is above the text.
panel.setAttribute('aria-labelledby', 'learn-title');
panel.replaceChildren(...frame.children);
document.body.append(opener, panel, dialog);
panel.addEventListener('animationend', ({ target }) => target.classList.remove('changed'));
panel.addEventListener('keydown', ({ key }) => key === 'Escape' && !wide.matches && setOpen(false, true));
page.close.onclick = () => setOpen(false, true);
opener.onclick = () => setOpen(true, true);
wide.onchange = fit;
fit();
change();
lead();
})();
