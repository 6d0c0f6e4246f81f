// The oracle's whole algorithm in plain C++: what the kernels could be if Numba cost nothing.
//
//   g++ -O3 -march=native -ffp-contract=off -shared -fPIC -o oracle.so bench/cpp/oracle.cpp
//
// Orthographic cameras, all pairs, merge by dominance: the default of a census. Sums and comparisons stand in the order
// of rc_hpc/kernels, and products are not fused into sums, so that results are equal and not only near. bench/twin.py
// builds, calls and compares it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace {

using i64 = std::int64_t;
using std::vector;
constexpr double INF = std::numeric_limits<double>::infinity();
const double SCREEN_X = std::cos(1.0), SCREEN_Y = std::sin(1.0);
const double SPACE_X = 1.0 / std::sqrt(6.0), SPACE_Y = std::sqrt(2.0 / 6.0), SPACE_Z = std::sqrt(3.0 / 6.0);

inline double height2(double x, double y) { return SCREEN_X * x + SCREEN_Y * y; }
inline double height3(double x, double y, double z) { return SPACE_X * x + SPACE_Y * y + SPACE_Z * z; }

// Stable order of values; short ones, the usual case, by insertion.
void stable_order(const double* values, i64 n, vector<i64>& order) {
    order.resize(n);
    std::iota(order.begin(), order.end(), 0);
    if (n > 32) {
        std::stable_sort(order.begin(), order.end(), [&](i64 a, i64 b) { return values[a] < values[b]; });
        return;
    }
    for (i64 k = 1; k < n; k++) {
        i64 item = order[k], m = k - 1;
        for (; m >= 0 && values[order[m]] > values[item]; m--) order[m + 1] = order[m];
        order[m + 1] = item;
    }
}

struct Points {  // of one view, or of space: by species, each along the generic direction
    vector<double> xyz, height;
    vector<i64> start;
};

struct Candidate {
    double x, y, z, height, gap;
    std::int32_t pair, species, first, second;
};

double nearest3(const Points& atoms, i64 low, i64 high, double x, double y, double z) {
    const double h = height3(x, y, z);
    const double* height = atoms.height.data();
    const double* p = atoms.xyz.data();
    i64 middle = std::lower_bound(height + low, height + high, h) - height;
    double best = INF;
    auto look = [&](i64 k) {
        double dx = p[3 * k] - x, dy = p[3 * k + 1] - y, dz = p[3 * k + 2] - z;
        best = std::min(best, dx * dx + dy * dy + dz * dz);
    };
    for (i64 k = middle; k < high && (height[k] - h) * (height[k] - h) <= best; k++) look(k);
    for (i64 k = middle - 1; k >= low && (height[k] - h) * (height[k] - h) <= best; k--) look(k);
    return std::sqrt(best);
}

double farthest_partner(const double* a, const double* height_a, const i64* start_a, const double* b,
                        const double* height_b, const i64* start_b, i64 species, double tolerance) {
    const double limit = tolerance * tolerance;
    double worst = 0;
    for (i64 s = 0; s < species; s++)
        if (start_a[s + 1] - start_a[s] != start_b[s + 1] - start_b[s]) return INF;
    for (i64 s = 0; s < species; s++) {
        i64 first = start_b[s], high = start_b[s + 1];
        for (i64 k = start_a[s]; k < start_a[s + 1]; k++) {
            while (first < high && height_b[first] < height_a[k] - tolerance) first++;
            double nearest = INF;
            for (i64 m = first; m < high && height_b[m] <= height_a[k] + tolerance; m++) {
                double dx = a[3 * k] - b[3 * m], dy = a[3 * k + 1] - b[3 * m + 1], dz = a[3 * k + 2] - b[3 * m + 2];
                nearest = std::min(nearest, dx * dx + dy * dy + dz * dz);
            }
            worst = std::max(worst, nearest);
            if (worst > limit) return INF;
        }
    }
    return std::sqrt(worst);
}

i64 count_distinct(const vector<i64>& chosen, i64 n, const vector<Candidate>& all, double radius, vector<char>& leads) {
    if (n < 2) return n;
    leads.resize(std::max<i64>(n, leads.size()));
    i64 count = 0;
    for (i64 k = 0; k < n; k++) {
        const Candidate& c = all[chosen[k]];
        bool alone = true;
        for (i64 m = k - 1; alone && m >= 0; m--) {
            const Candidate& o = all[chosen[m]];
            if (o.species != c.species || c.height - o.height > radius + 1e-12) break;
            double dx = o.x - c.x, dy = o.y - c.y, dz = o.z - c.z;
            if (leads[m] && dx * dx + dy * dy + dz * dz <= radius * radius) alone = false;
        }
        leads[k] = alone;
        count += alone;
    }
    return count;
}

}  // namespace

// Inputs as in rc_hpc/kernels/records.py; atoms by species, `start` their ranges. Outputs: one value a subset. Returns
// the number of candidates, or -1 where there are more than `many`, which the kernels treat by halving the horizon.
extern "C" i64 read_cell(i64 n, const double* position, i64 species, const i64* start, i64 views, const double* rotation,
                         i64 pairs, const i64* pair_views, const double* kappa, const double* normal,
                         const double* screen_normal, const double* screen_side, const double* dual, double delta,
                         double reach, double tie, double zero, double exact, double same, i64 many, i64 subsets,
                         const i64* mask, i64* n_recovered, i64* reconstruction, double* point_error,
                         double* atom_error, i64* n_phantoms, i64* n_exact, i64* n_strict, double* phantom_delta,
                         double* phantom_delta_exact) {
    vector<i64> rank;
    vector<double> local;
    Points atoms;  // the truth
    atoms.start.assign(start, start + species + 1);
    atoms.xyz.resize(3 * n);
    atoms.height.resize(n);
    for (i64 s = 0; s < species; s++) {
        local.clear();
        for (i64 k = start[s]; k < start[s + 1]; k++)
            local.push_back(height3(position[3 * k], position[3 * k + 1], position[3 * k + 2]));
        stable_order(local.data(), local.size(), rank);
        for (i64 k = 0; k < (i64)local.size(); k++) {
            atoms.height[start[s] + k] = local[rank[k]];
            for (int a = 0; a < 3; a++) atoms.xyz[3 * (start[s] + k) + a] = position[3 * (start[s] + rank[k]) + a];
        }
    }

    // What each view shows: coincident points once.
    vector<Points> seen(views);
    vector<i64> first;
    for (i64 v = 0; v < views; v++) {
        const double* r = rotation + 9 * v;
        Points& view = seen[v];
        view.start.assign(1, 0);
        vector<double> xy, sorted;
        for (i64 s = 0; s < species; s++) {
            i64 size = start[s + 1] - start[s];
            xy.resize(2 * size);
            local.resize(size);
            for (i64 k = 0; k < size; k++) {
                const double* p = position + 3 * (start[s] + k);
                for (int c = 0; c < 2; c++) xy[2 * k + c] = p[0] * r[c] + p[1] * r[3 + c] + p[2] * r[6 + c];
                local[k] = height2(xy[2 * k], xy[2 * k + 1]);
            }
            stable_order(local.data(), size, rank);
            first.resize(size);
            for (i64 k = 0; k < size; k++) {
                first[k] = k;
                for (i64 m = k - 1; m >= 0 && local[rank[k]] - local[rank[m]] <= tie; m--) {
                    double dx = xy[2 * rank[m]] - xy[2 * rank[k]], dy = xy[2 * rank[m] + 1] - xy[2 * rank[k] + 1];
                    if (first[m] != first[k] && dx * dx + dy * dy <= tie * tie) {
                        i64 low = std::min(first[k], first[m]), high = std::max(first[k], first[m]);
                        for (i64 e = high; e <= k; e++)
                            if (first[e] == high) first[e] = low;
                    }
                }
            }
            for (i64 k = 0; k < size; k++)
                if (first[k] == k) {
                    view.xyz.push_back(xy[2 * rank[k]]);
                    view.xyz.push_back(xy[2 * rank[k] + 1]);
                    view.height.push_back(local[rank[k]]);
                }
            view.start.push_back(view.height.size());
        }
    }

    // Which rays meet: points sorted along each pair's common normal.
    vector<Candidate> met;
    vector<vector<double>> along(2);
    vector<vector<i64>> order(2);
    for (i64 p = 0; p < pairs; p++) {
        for (int side = 0; side < 2; side++) {
            const Points& view = seen[pair_views[2 * p + side]];
            const double* u = screen_normal + 2 * (2 * p + side);
            along[side].resize(view.height.size());
            order[side].resize(view.height.size());
            for (i64 k = 0; k < (i64)view.height.size(); k++)
                along[side][k] = view.xyz[2 * k] * u[0] + view.xyz[2 * k + 1] * u[1];
            for (i64 s = 0; s < species; s++) {
                i64 low = view.start[s];
                stable_order(along[side].data() + low, view.start[s + 1] - low, rank);
                for (i64 k = 0; k < (i64)rank.size(); k++) order[side][low + k] = low + rank[k];
            }
        }
        const Points &one = seen[pair_views[2 * p]], &other = seen[pair_views[2 * p + 1]];
        const double *e = screen_side + 4 * p, *d = dual + 6 * p, *u = normal + 3 * p;
        const double slack = reach + 1e-12;
        for (i64 s = 0; s < species; s++) {
            i64 from = other.start[s], high = other.start[s + 1];
            for (i64 k = one.start[s]; k < one.start[s + 1]; k++) {
                i64 i = order[0][k];
                double t = along[0][i];
                while (from < high && along[1][order[1][from]] < t - slack) from++;
                for (i64 m = from; m < high && along[1][order[1][m]] <= t + slack; m++) {
                    i64 j = order[1][m];
                    double gap = std::abs(t - along[1][j]);
                    if (gap > reach) continue;
                    double middle = 0.5 * (t + along[1][j]);
                    double a = one.xyz[2 * i] * e[0] + one.xyz[2 * i + 1] * e[1];
                    double b = other.xyz[2 * j] * e[2] + other.xyz[2 * j + 1] * e[3];
                    double x = middle * u[0] + a * d[0] + b * d[3], y = middle * u[1] + a * d[1] + b * d[4],
                           z = middle * u[2] + a * d[2] + b * d[5];
                    met.push_back({x, y, z, height3(x, y, z), gap, (std::int32_t)p, (std::int32_t)s, (std::int32_t)i,
                                   (std::int32_t)j});
                }
            }
        }
    }
    const i64 total = met.size();
    if (total > many) return -1;

    // Sorted by species and height; residuals in every view.
    vector<Candidate> all;
    all.reserve(total);
    vector<vector<i64>> of_species(species);
    for (i64 c = 0; c < total; c++) of_species[met[c].species].push_back(c);
    for (i64 s = 0; s < species; s++) {
        local.clear();
        for (i64 c : of_species[s]) local.push_back(met[c].height);
        stable_order(local.data(), local.size(), rank);
        for (i64 k : rank) all.push_back(met[of_species[s][k]]);
    }
    vector<double> residual(total * views), distance(total);
    vector<std::int32_t> nearest(total * views);
    for (i64 u = 0; u < views; u++) {
        const Points& view = seen[u];
        const double* r = rotation + 9 * u;
        for (i64 c = 0; c < total; c++) {
            const Candidate& at = all[c];
            i64 low = view.start[at.species], high = view.start[at.species + 1];
            double x = at.x * r[0] + at.y * r[3] + at.z * r[6], y = at.x * r[1] + at.y * r[4] + at.z * r[7];
            double h = height2(x, y), best = reach * reach * (1.0 + 1e-12);
            const double *height = view.height.data(), *p = view.xyz.data();
            i64 middle = pair_views[2 * at.pair] == u       ? at.first
                         : pair_views[2 * at.pair + 1] == u ? at.second
                                                            : std::lower_bound(height + low, height + high, h) - height;
            i64 found = -1;
            auto look = [&](i64 k) {
                double dx = p[2 * k] - x, dy = p[2 * k + 1] - y, d2 = dx * dx + dy * dy;
                if (d2 < best || (d2 == best && (found < 0 || k < found))) best = d2, found = k;
            };
            for (i64 k = middle; k < high && (height[k] - h) * (height[k] - h) <= best; k++) look(k);
            for (i64 k = middle - 1; k >= low && (height[k] - h) * (height[k] - h) <= best; k--) look(k);
            double away = std::sqrt(best);
            if (found < 0 || away > reach) found = -1, away = INF;
            if (found > low) {
                double limit = away + tie;
                for (i64 k = found - 1; k >= low && h - height[k] <= limit; k--) {
                    double dx = p[2 * k] - x, dy = p[2 * k + 1] - y;
                    if (dx * dx + dy * dy <= limit * limit) found = k;
                }
            }
            residual[c * views + u] = away;
            nearest[c * views + u] = found;
        }
    }
    for (i64 c = 0; c < total; c++)
        distance[c] = nearest3(atoms, start[all[c].species], start[all[c].species + 1], all[c].x, all[c].y, all[c].z);

    // Which views accept which candidates; phantoms.
    vector<i64> own(total), blind(total), accepted, phantoms, suspects, strict;
    for (i64 c = 0; c < total; c++) {
        i64 a = pair_views[2 * all[c].pair], b = pair_views[2 * all[c].pair + 1], gap_ok = all[c].gap <= delta;
        own[c] = (i64(1) << a) | (i64(1) << b);
        i64 seen_by = gap_ok ? own[c] : 0;
        for (i64 u = 0; u < views; u++)
            if (u != a && u != b && residual[c * views + u] <= delta) seen_by |= i64(1) << u;
        blind[c] = ~seen_by;
        if (gap_ok) {
            accepted.push_back(c);
            if (distance[c] > delta) phantoms.push_back(c);
        }
        if (distance[c] > all[c].gap + zero) {
            if (all[c].gap < distance[c] - zero) suspects.push_back(c);
            if (all[c].gap <= exact && distance[c] > exact) strict.push_back(c);
        }
    }
    auto views_beyond = [&](i64 c, double limit, bool strictly) {
        i64 beyond = 0;
        for (i64 u = 0; u < views; u++) {
            double r = residual[c * views + u];
            if (!(strictly ? r < limit : r <= limit)) beyond |= i64(1) << u;
        }
        return beyond & ~own[c];
    };
    vector<i64> suspect_blind, strict_blind;
    for (i64 c : suspects) suspect_blind.push_back(views_beyond(c, distance[c] - zero, true));
    for (i64 c : strict) strict_blind.push_back(views_beyond(c, exact, false));

    // Every subset.
    i64 longest = 0;
    for (const Points& view : seen) longest = std::max<i64>(longest, view.height.size());
    vector<double> best(views * longest, INF), worst(accepted.size()), steps(accepted.size());
    vector<i64> live(total), chosen(accepted.size()), after(accepted.size()), head, view;
    vector<char> keep(accepted.size()), taken(accepted.size()), leads;
    vector<double> points(atoms.xyz), heights(atoms.height);
    vector<i64> starts(atoms.start), numbers{0};  // set 0 is the true cell
    i64 sets = 1, distinct = 1, filled = n;
    for (i64 k = 0; k < subsets; k++) {
        const i64 m = mask[k];
        view.clear();
        for (i64 u = 0; u < views; u++)
            if (m >> u & 1) view.push_back(u);
        const i64 width = view.size();

        i64 size = 0;
        for (i64 c : phantoms) live[size] = c, size += ((own[c] & ~m) | (m & blind[c])) == 0;
        n_phantoms[k] = count_distinct(live, size, all, exact, leads);
        i64 exactly = 0;
        for (i64 e = 0; e < size; e++) {
            i64 c = live[e];
            live[exactly] = c;
            exactly += all[c].gap <= exact;
        }
        n_exact[k] = exactly < size ? count_distinct(live, exactly, all, exact, leads) : n_phantoms[k];
        size = 0;
        for (i64 e = 0; e < (i64)strict.size(); e++)
            live[size] = strict[e], size += ((own[strict[e]] & ~m) | (m & strict_blind[e])) == 0;
        n_strict[k] = count_distinct(live, size, all, exact, leads);
        double smallest = INF, smallest_exact = INF;
        for (i64 e = 0; e < (i64)suspects.size(); e++) {
            i64 c = suspects[e];
            if (((own[c] & ~m) | (m & suspect_blind[e])) != 0) continue;
            double needed = all[c].gap;
            for (i64 u : view)
                if (!(own[c] >> u & 1)) needed = std::max(needed, residual[c * views + u]);
            smallest = std::min(smallest, needed);
            if (all[c].gap <= exact) smallest_exact = std::min(smallest_exact, needed);
        }
        phantom_delta[k] = smallest;
        phantom_delta_exact[k] = smallest_exact;

        // Merge by dominance.
        size = 0;
        for (i64 c : accepted) live[size] = c, size += ((own[c] & ~m) | (m & blind[c])) == 0;
        for (i64 e = 0; e < size; e++) {
            double largest = 0;
            for (i64 u : view) largest = std::max(largest, residual[live[e] * views + u]);
            worst[e] = largest;
            steps[e] = std::floor(largest / tie + 0.5);
            for (i64 u : view) {
                double& b = best[u * longest + nearest[live[e] * views + u]];
                b = std::min(b, largest);
            }
        }
        for (i64 e = 0; e < size; e++) {
            bool kept = false;
            for (i64 u : view) kept |= best[u * longest + nearest[live[e] * views + u]] >= worst[e] - tie;
            keep[e] = kept;
        }
        for (i64 e = 0; e < size; e++)
            for (i64 u : view) best[u * longest + nearest[live[e] * views + u]] = INF;
        i64 table = 1, count = 0, group = -1;
        while (table < 2 * size) table *= 2;
        head.assign(table, -1);
        for (i64 e = 0; e < size; e++) {
            taken[e] = 0;
            if (!keep[e]) continue;
            const std::int32_t* own_points = &nearest[live[e] * views];
            auto equal = [&](i64 g) {
                const std::int32_t* theirs = &nearest[live[chosen[g]] * views];
                bool same_points = true;
                for (i64 q = 0; q < width; q++) same_points &= theirs[view[q]] == own_points[view[q]];
                return same_points;
            };
            bool found = group >= 0 && equal(group);
            if (!found) {
                i64 code = i64(own_points[view[0]]) * 1000003 + own_points[view[1]];
                i64 slot = (code ^ (code >> 15)) & (table - 1);
                for (group = head[slot]; group >= 0 && !(found = equal(group));) group = after[group];
                if (group < 0) {
                    group = count;
                    chosen[count] = e;
                    after[count] = head[slot];
                    head[slot] = count++;
                }
            }
            if (found) {
                i64 old = chosen[group], c = live[e], o = live[old];
                double kc = kappa[all[c].pair], ko = kappa[all[o].pair];
                if (steps[e] < steps[old] || (steps[e] == steps[old] && (kc < ko || (kc == ko && c < o))))
                    chosen[group] = e;
            }
        }
        for (i64 e = 0; e < count; e++) taken[chosen[e]] = 1;
        points.resize(3 * filled);
        heights.resize(filled);
        starts.resize((sets + 1) * (species + 1));
        i64* own_starts = starts.data() + sets * (species + 1);
        std::fill(own_starts, own_starts + species + 1, 0);
        i64 recovered = 0;
        for (i64 e = 0; e < size; e++)
            if (taken[e]) {
                const Candidate& c = all[live[e]];
                points.insert(points.end(), {c.x, c.y, c.z});
                heights.push_back(c.height);
                own_starts[c.species + 1]++;
                recovered++;
            }
        own_starts[0] = filled;
        for (i64 s = 0; s < species; s++) own_starts[s + 1] += own_starts[s];
        n_recovered[k] = recovered;
        i64 equal_set = -1;
        double apart = INF;
        for (i64 e = 0; e < sets && equal_set < 0; e++) {
            apart = farthest_partner(points.data(), heights.data(), own_starts, points.data(), heights.data(),
                                     starts.data() + e * (species + 1), species, same);
            if (apart < INF) equal_set = e;
        }
        point_error[k] = atom_error[k] = INF;
        if (equal_set == 0) {
            point_error[k] = atom_error[k] = apart;
        } else if (recovered) {
            Points all_points;
            std::swap(all_points.xyz, points);
            std::swap(all_points.height, heights);
            double from_points = 0, from_atoms = 0;
            for (i64 e = 0; e < size; e++)
                if (taken[e]) from_points = std::max(from_points, distance[live[e]]);
            for (i64 s = 0; s < species; s++) {
                for (i64 e = start[s]; e < start[s + 1]; e++)
                    from_atoms = std::max(
                        from_atoms, nearest3(all_points, own_starts[s], own_starts[s + 1], all_points.xyz[3 * e],
                                             all_points.xyz[3 * e + 1], all_points.xyz[3 * e + 2]));
            }
            point_error[k] = from_points;
            atom_error[k] = from_atoms;
            std::swap(all_points.xyz, points);
            std::swap(all_points.height, heights);
        }
        reconstruction[k] = equal_set >= 0 ? numbers[equal_set] : distinct;
        if (equal_set < 0) {
            numbers.push_back(distinct++);
            filled += recovered;
            sets++;
        }
    }
    return total;
}
