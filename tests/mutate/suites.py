# SPDX-License-Identifier: MIT
"""The test programs, linked to a library built for them alone: quick to build again and again.

A flavour is one way to compile the library's sources; its test programs are compiled once and find
the library when they start, so another library needs no other programs.
"""

import functools
import os
import resource
import subprocess
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / 'src/mapletree'
SPACE = ROOT / 'src/vmspace'
TESTS = ROOT / 'tests'

COMPILE = ['gcc', '-std=gnu17', '-D_GNU_SOURCE', '-fPIC', '-fno-semantic-interposition', '-w',
           f'-I{ROOT}/include']
BESIDE = ['-lurcu-bp', '-lcmocka', '-lz', '-lpthread']

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
    'space': [],
}
LINK = {'sanitized': SANITIZE}


class Suite:
    """A test program, how it is run, and the CPU seconds it took with the library unchanged.

    @wraps: the functions that it puts its own in place of, in the library; where libraries of one
    flavour differ by these alone, they are of the same objects.
    @oracle: it makes the same calls for real, by what vmscope has for that.
    """

    def __init__(self, name, flavour, sources, args=(), wraps='', oracle=False):
        self.name, self.flavour, self.args = name, flavour, [str(a) for a in args]
        self.sources = [TESTS / s for s in sources]
        self.wraps = [f'-Wl,--wrap={w}' for w in wraps.split()]
        self.library = '+'.join([flavour, *wraps.split()])  # the folder that its library is in
        self.oracle = oracle
        self.cpu = 0.0


def sources(flavour):
    """What the library of a flavour is made of."""
    # variants.c only chooses between copies of others for other instruction sets.
    core = sorted(p for p in CORE.glob('*.c') if p.name != 'variants.c')
    return core + sorted(SPACE.glob('*.c')) if flavour == 'space' else core


def files(folder, names):
    return [f'{folder}/{n}.c' for n in names.split()]


def core_suites(torture_seconds):
    """What judges libmapletree, cheapest first."""
    unit = ['store', 'find', 'gaps', 'gap_search', 'seam', 'lookup', 'cursor', 'step', 'for_each',
            'write', 'dup', 'snapshot', 'family', 'entries', 'range', 'range_random',
            'rcu', 'check', 'debug', 'fill', 'work', 'places']
    small = ['gap_search', 'lookup', 'for_each', 'snapshot', 'family', 'entries', 'range',
             'range_random']
    waiting = ['lock', 'mutex', 'memory', 'scarce', 'retire', 'async', 'poll', 'fork']
    fault = files('fault', 'main calls whole trees heap')
    model = files('model', 'main draw calls session compare oracle reading')
    corpus = [*files('../fuzz', 'tree_fuzzer world compare calls areas trees cursors readers '
                                'sharing replay'),
              *files('model', 'oracle reading'), 'fault/heap.c']
    torture = files('torture', 'main world readers writers heirs quarantine yield')
    vectors = sorted((TESTS / 'conformance/vectors').glob('*.mtv.gz'))
    # Grace periods pass when the test says so.
    grace = 'urcu_bp_call_rcu'
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
            'exhaustive', 'family_main family options states watch shape grace')], ['--tap'], grace),
        Suite('exhaustive', 'watched', ['fault/heap.c', *files(
            'exhaustive', 'main options states writes reads watch shape grace')], ['--tap'], grace),
        Suite('fault', 'plain', fault),
        Suite('fault-small', 'small', fault),
        Suite('torture', 'yields', torture, hurry),
        Suite('torture-small', 'yields-small', torture, hurry),
        *(Suite(f'sanitized {n}', 'sanitized', [f'unit/test_{n}.c', 'unit/fixture.c'])
          for n in ['store', 'find', 'write', 'cursor', 'gaps', 'memory', 'snapshot', 'entries',
                    'poll']),
        Suite('sanitized model', 'sanitized', model, ['--ops=20000', '--seed=7']),
    ]


def space_suites():
    """What judges libvmspace, but for its windows, files and small pages: cheapest first."""
    few = 'malloc calloc realloc strdup free aligned_alloc vma_alloc'  # what scarce.c makes fail

    def test(name, beside='', wraps='', args=()):
        return Suite(f'vmspace {name}', 'space', files('vmspace', f'vmspace_{name} {beside}'), args,
                     wraps)

    def oracle(name, beside=''):
        return Suite(f'oracle {name}', 'space', files('vmspace', f'oracle_{name} cases {beside}'),
                     oracle=True)

    return [
        *(test(n) for n in ['merge', 'units', 'guards', 'iter', 'pkeys', 'config', 'commit',
                            'explain', 'guest', 'touch', 'present', 'hooks', 'import', 'proc']),
        test('rules', 'rules_cases rules_uffd_cases'),
        test('history', wraps='malloc realloc'),
        test('copies'),
        test('nomem', wraps='malloc calloc strdup strndup realloc reallocarray aligned_alloc '
                            'vma_alloc'),
        *(oracle(n) for n in ['lock', 'shared', 'refused', 'found', 'cases', 'uffd', 'remap']),
        *(test(n, 'snapshot_world scarce', few) for n in ['snapshot', 'snapshot_clone']),
        *(test(n, 'families scarce', few) for n in ['fork', 'fork_random']),
        test('begin_waits', 'begin_world'),
        test('words_random', 'scarce', few, ['--ops', '3000']),
        Suite('vmspace corpus', 'space', files('../fuzz', 'vmspace_fuzzer replay'),
              [ROOT / 'fuzz/corpus/vmspace']),
        *(test(n, 'pages_world', 'malloc calloc')
          for n in ['pages', 'pages_random', 'pages_threads']),
        test('begin', 'begin_world scarce', few),
        test('words', 'scarce', few),
        *(oracle(n) for n in ['limits', 'arguments']),
        oracle('rules', 'rules_cases rules_uffd_cases'),
        test('become', 'scarce', few),
        oracle('special'),
        *(test(n, 'scarce', few) for n in ['nomem_pages', 'nomem_many']),
    ]


# The libraries that are broken.
LIBRARIES = {'mapletree': CORE, 'vmspace': SPACE}


def all_suites(library, torture_seconds):
    """What judges a library."""
    return space_suites() if library == 'vmspace' else core_suites(torture_seconds)


def test_sources(suites):
    """All files that suites are made of."""
    sources = {s for suite in suites for s in suite.sources}
    folders = {TESTS, *(s.parent for s in sources)}
    vmscope = ROOT.glob('tools/vmscope/*/*.[ch]') if any(s.oracle for s in suites) else ()
    return {*sources, *(h for f in folders for h in f.glob('*.h')), *vmscope, Path(__file__),
            *TESTS.glob('conformance/vectors/*'), *ROOT.glob('fuzz/corpus/[tv]*/*')}


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


def link_library(folder, suite, objects, extra=()):
    """The library in @folder that the suite, and those of the same library, run on."""
    folder.mkdir(parents=True, exist_ok=True)
    check_call(['gcc', '-shared', '-Wl,-Bsymbolic-functions', *map(str, objects), '-o',
                folder / 'libtree.so', *extra, *LINK.get(suite.flavour, []), *suite.wraps,
                '-lurcu-bp', '-lpthread'])


def build_library(build, flavour, suites, extra, also=()):
    """The library as it is, and sources @also in it, as @suites want it. Returns {source: object}."""
    folder = build / flavour
    objects = {}
    for source in sources(flavour):
        objects[source] = compile_object(folder / source.parent.name, flavour, source, extra)
        if not objects[source]:
            raise SystemExit(f'{source.name} does not compile for {flavour}')
    for suite in {s.library: s for s in suites if s.flavour == flavour}.values():
        link_library(build / suite.library, suite, [*objects.values(), *also], extra)
    return objects


def program(build, suite):
    return build / suite.library / suite.name.replace(' ', '_')


@functools.cache
def build_oracle(build):
    """What comparisons with the running kernel take from vmscope, as an archive."""
    folder, vmscope = build / 'oracle', ROOT / 'tools/vmscope'
    archive = folder / 'liboracle.a'
    folder.mkdir(parents=True, exist_ok=True)
    compiled = [*COMPILE, '-O1', f'-I{vmscope}', f'-I{SPACE}', '-I/usr/include/json-c']
    parts = [p for part in ['base', 'log', 'mirror'] for p in vmscope.glob(f'{part}/*.c')]
    parts += [vmscope / f'check/{n}.c' for n in 'files pair pair_call pair_equal puppet puppet_uffd '
                                                'ranges'.split()]
    check_call([*compiled, '-ffreestanding', '-fno-stack-protector', '-fno-pic', '-no-pie',
                '-U_FORTIFY_SOURCE', '-static', '-nostdlib', vmscope / 'check/puppet_program.c',
                '-o', folder / 'puppet'])
    check_call(['python3', vmscope / 'check/puppet_blob.py', folder / 'puppet', folder / 'blob.S'])
    for part in [*parts, folder / 'blob.S']:
        check_call([*compiled, '-c', part, '-o', folder / f'{part.parent.name}_{part.stem}.o'])
    check_call(['ar', 'rc', archive, *folder.glob('*.o')])
    return archive


def build_program(build, suite, extra=()):
    folders = [CORE, SPACE] if suite.flavour == 'space' else [CORE]
    folders += [TESTS / 'fault', TESTS / 'model', TESTS / 'unit', ROOT / 'fuzz',
                ROOT / 'tools/vmscope']
    beside = [build_oracle(build), '-ljson-c', '-lm'] if suite.oracle else []
    check_call([*COMPILE, '-O1', *extra, *FLAVOURS[suite.flavour], *(f'-I{f}' for f in folders),
                *suite.sources, '-o', program(build, suite), *beside,
                f'-L{build / suite.library}', '-ltree', *suite.wraps, *BESIDE])


def end_group(process):
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        pass


def run(build, suite, library, cpu_limit, wall_limit):
    """Runs a suite on the library in @library. Returns what it did wrong, or '', and its CPU time."""
    def limits():
        seconds = int(cpu_limit) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        # A sanitizer maps all there is; and processes that are compared have the limit, too.
        if suite.flavour != 'sanitized' and not suite.oracle:
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    process = subprocess.Popen([program(build, suite), *suite.args], preexec_fn=limits,
                               env={**os.environ, 'LD_LIBRARY_PATH': str(library)},
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    hangs = threading.Event()
    timer = threading.Timer(wall_limit, lambda: (hangs.set(), end_group(process)))
    timer.start()
    # Its own time: several suites run at once.
    _, status, used = os.wait4(process.pid, 0)
    timer.cancel()
    end_group(process)
    process.returncode = os.waitstatus_to_exitcode(status)
    code = 'hangs' if hangs.is_set() else process.returncode
    cpu = used.ru_utime + used.ru_stime
    if code == 0:
        return '', cpu
    return (f'{suite.name}: {code}' if isinstance(code, str) else
            f'{suite.name}: signal {-code}' if code < 0 else f'{suite.name}: fails'), cpu
