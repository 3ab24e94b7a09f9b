# SPDX-License-Identifier: MIT
"""The test programs, linked to a library built for them alone: quick to build again and again.

A flavour is one way to compile the library's sources; its test programs are compiled once and find
the library when they start, so another library needs no other programs.
"""

import os
import resource
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / 'src/mapletree'
TESTS = ROOT / 'tests'

# These only choose between copies of others for other instruction sets.
SOURCES = sorted(p.name for p in CORE.glob('*.c') if p.name != 'variants.c')
COMPILE = ['gcc', '-std=gnu17', '-D_GNU_SOURCE', '-fPIC', '-fno-semantic-interposition', '-w',
           f'-I{ROOT}/include']
LIBRARIES = ['-lurcu-bp', '-lcmocka', '-lz', '-lpthread']

SANITIZE = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all']
SMALL = ['-DMT_TEST_SLOTS=4']
YIELDS = ['-include', f'{TESTS}/torture/yield.h']
RACES = ['-include', f'{TESTS}/unit/races.h']
LOOKS = ['-include', f'{TESTS}/unit/looks.h']
FLAVOURS = {
    'plain': [],
    'small': SMALL,
    'races': RACES,
    'races-small': RACES + SMALL,
    'looks': LOOKS,
    'looks-versions': LOOKS + ['-DMT_TEST_VERSION_BITS=9'],
    'watched': SMALL + ['-include', f'{TESTS}/exhaustive/observe.h'],
    'yields': YIELDS,
    'yields-small': YIELDS + SMALL,
    'sanitized': SANITIZE,
}
# Grace periods pass when the test says so.
LINK = {'watched': ['-Wl,--wrap=urcu_bp_call_rcu'], 'sanitized': SANITIZE}


class Suite:
    """A test program, how it is run, and the CPU seconds it took with the library unchanged."""

    def __init__(self, name, flavour, sources, args=()):
        self.name, self.flavour, self.args = name, flavour, [str(a) for a in args]
        self.sources = [TESTS / s for s in sources]
        self.cpu = 0.0


def all_suites(torture_seconds):
    """Cheapest first."""
    unit = ['store', 'find', 'gaps', 'gap_search', 'seam', 'lookup', 'cursor', 'step', 'for_each',
            'write', 'dup', 'snapshot', 'family', 'entries', 'range', 'range_random',
            'rcu', 'check', 'debug', 'fill', 'work', 'places']
    small = ['gap_search', 'lookup', 'for_each', 'snapshot', 'family', 'entries', 'range',
             'range_random']
    waiting = ['lock', 'mutex', 'memory', 'scarce', 'retire', 'async', 'poll', 'fork']
    files = lambda folder, names: [f'{folder}/{n}.c' for n in names.split()]
    fault = files('fault', 'main calls whole trees heap')
    model = files('model', 'main draw calls session compare oracle reading')
    corpus = [*files('../fuzz', 'tree_fuzzer world compare calls areas trees cursors readers '
                                'sharing replay'),
              *files('model', 'oracle reading'), 'fault/heap.c']
    torture = files('torture', 'main world readers writers heirs quarantine yield')
    vectors = sorted((TESTS / 'conformance/vectors').glob('*.mtv.gz'))
    hurry = ['--tap', f'--duration={torture_seconds}']
    return [
        *(Suite(f'unit {n}', 'plain', [f'unit/test_{n}.c', 'unit/fixture.c']) for n in unit),
        *(Suite(f'regress {n}', 'plain', [f'regress/test_{n}.c', 'unit/fixture.c'])
          for n in ['documented', 'tree']),
        *(Suite(f'unit {n}-small', 'small', [f'unit/test_{n}.c', 'unit/fixture.c']) for n in small),
        *(Suite(f'api {n}', 'plain', [f'api/{n}.c'])
          for n in ['kernel_style', 'kernel_memory', 'beyond_kernel']),
        Suite('model', 'plain', model, ['--ops=60000', '--seed=7']),
        Suite('conformance', 'plain', files('conformance', 'main replay calls words'),
              ['-j', '1', *vectors]),
        Suite('corpus', 'plain', corpus, [ROOT / 'fuzz/corpus/tree']),
        Suite('corpus-small', 'small', corpus, [ROOT / 'fuzz/corpus/tree']),
        *(Suite(f'unit {n}', 'plain', [f'unit/test_{n}.c', 'unit/fixture.c']) for n in waiting),
        *(Suite(f'unit {n}', n, files('unit', 'test_races race race_readers'))
          for n in ['races', 'races-small']),
        *(Suite(f'unit retries {n}', n, ['unit/test_retries.c'])
          for n in ['looks', 'looks-versions']),
        Suite('exhaustive family', 'watched', ['fault/heap.c', *files(
            'exhaustive', 'family_main family options states watch shape grace')], ['--tap']),
        Suite('exhaustive', 'watched', ['fault/heap.c', *files(
            'exhaustive', 'main options states writes reads watch shape grace')], ['--tap']),
        Suite('fault', 'plain', fault),
        Suite('fault-small', 'small', fault),
        Suite('torture', 'yields', torture, hurry),
        Suite('torture-small', 'yields-small', torture, hurry),
        *(Suite(f'sanitized {n}', 'sanitized', [f'unit/test_{n}.c', 'unit/fixture.c'])
          for n in ['store', 'find', 'write', 'cursor', 'gaps', 'memory', 'snapshot', 'entries']),
        Suite('sanitized model', 'sanitized', model, ['--ops=20000', '--seed=7']),
    ]


def test_sources():
    """All files that the suites are made of."""
    sources = {s for suite in all_suites(0) for s in suite.sources}
    folders = {s.parent for s in sources}
    return {*sources, *(h for f in folders for h in f.glob('*.h')),
            *TESTS.glob('conformance/vectors/*'), *ROOT.glob('fuzz/corpus/tree/*'), Path(__file__)}


def check_call(command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def compile_object(folder, flavour, source, extra):
    """Compiles one of the library's sources. Returns the object, or None if it does not compile."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / (Path(source).stem + '.o')
    # Without the folder's name in it, the same code is the same file.
    done = subprocess.run([*COMPILE, *extra, *FLAVOURS[flavour],
                           f'-fmacro-prefix-map={source.parent}=.', '-c', source, '-o', target],
                          stderr=subprocess.DEVNULL)
    return target if done.returncode == 0 else None


def link_library(folder, flavour, objects, extra=()):
    folder.mkdir(parents=True, exist_ok=True)
    check_call(['gcc', '-shared', '-Wl,-Bsymbolic-functions', *map(str, objects), '-o',
                folder / 'libtree.so', *extra, *LINK.get(flavour, []), '-lurcu-bp', '-lpthread'])


def build_library(build, flavour, extra, also=()):
    """The library as it is, and sources @also in it. Returns its objects by the source's name."""
    folder = build / flavour
    objects = {}
    for name in SOURCES:
        objects[name] = compile_object(folder, flavour, CORE / name, extra)
        if not objects[name]:
            raise SystemExit(f'{name} does not compile for {flavour}')
    link_library(folder, flavour, [*objects.values(), *also], extra)
    return objects


def program(build, suite):
    return build / suite.flavour / suite.name.replace(' ', '_')


def build_program(build, suite, extra=()):
    folder = build / suite.flavour
    check_call([*COMPILE, '-O1', *extra, *FLAVOURS[suite.flavour], f'-I{CORE}', f'-I{TESTS}/fault',
                f'-I{TESTS}/model', f'-I{TESTS}/unit', f'-I{ROOT}/fuzz', *suite.sources,
                '-o', program(build, suite), f'-L{folder}', '-ltree', *LIBRARIES])


def run(build, suite, library, cpu_limit, wall_limit):
    """Runs a suite on the library in @library. Returns what it did wrong, or '', and its CPU time."""
    def limits():
        seconds = int(cpu_limit) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        if suite.flavour != 'sanitized':  # which maps all there is
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([program(build, suite), *suite.args], preexec_fn=limits,
                               env={**os.environ, 'LD_LIBRARY_PATH': str(library)},
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        code = process.wait(wall_limit)
    except subprocess.TimeoutExpired:
        code = 'hangs'
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        pass
    process.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if code == 0:
        return '', cpu
    return (f'{suite.name}: {code}' if isinstance(code, str) else
            f'{suite.name}: signal {-code}' if code < 0 else f'{suite.name}: fails'), cpu
